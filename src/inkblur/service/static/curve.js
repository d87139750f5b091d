// Attack against meaning, with "you are here".

import { $, make, percent } from "./ask.js";
import { choices, factor, stopsOf } from "./choices.js";

function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export function drawCurve(keep, here) {
  $("curve-title").textContent = keep === "label" ? "What each strength keeps" : "Attack against meaning";
  if (keep === "label") poolTable(here);
  else wordCurve(here);
}

// Whole texts: what is proved holds against every attack, so there is nothing to draw against.
function poolTable(here) {
  const figure = { class: "figure" };
  const labeled = choices.pool.labels.length > 0;
  const heads = [["Epsilon"], ["Factor", figure], ...(labeled ? [["Label stays", figure]] : []), ["Nearness", figure]];
  const rows = stopsOf("label").map((stop) => make("tr", stop === here ? { class: "chosen" } : {},
    make("th", { scope: "row" }, stop.epsilon, ...(stop === here ? [make("span", { class: "here-mark" }, "you are here")] : [])),
    make("td", figure, factor(stop.epsilon)),
    ...(labeled ? [make("td", figure, percent(stop.label))] : []),
    make("td", figure, stop.meaning.toFixed(2))));
  $("curve").replaceChildren(make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "What each strength keeps" }, make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map(([text, more]) => make("th", { scope: "col", ...more }, text)))),
    make("tbody", {}, ...rows))));
  $("curve-caption").textContent = "Factor: no result is more than so many times as likely for one text as for any other; that is proved. The rest was measured on the public texts themselves. Nearness is the mean cosine between a text and its replacement: 1 would be the same text, 0 one drawn blindly.";
}

// Measured strengths, joined; weaker settings, whose attack nobody measured; untouched texts.
function wordCurve(here) {
  const stops = choices.words;
  const known = stops.filter((stop) => stop.named !== null);
  const width = Math.max(280, Math.min(620, $("curve").clientWidth || 560)); // letters keep their size
  const wide = width > 400;
  const [height, left, bottom, top, right] = [300, 48, 252, 26, 12];
  const x = (meaning) => left + meaning * (width - left - right);
  const y = (named) => bottom - named * (bottom - top);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": "curve-caption" });
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    picture.append(
      svg("line", { class: "axis", x1: left, x2: width - right, y1: y(share), y2: y(share) }),
      svg("text", { x: left - 8, y: y(share) + 4, "text-anchor": "end" }, percent(share)),
      svg("text", { x: x(share), y: bottom + 18, "text-anchor": "middle" }, share.toString()),
    );
  }
  picture.append(
    svg("text", { x: left, y: height - 8 }, wide ? "meaning kept: mean cosine of original and released words" : "meaning kept (mean cosine of words)"),
    svg("text", { x: 0, y: 12 }, wide ? "authors identified by the strongest attack tried" : "authors identified by the best attack tried"),
  );
  const path = (points) => points.map((point) => `${x(point[0])},${y(point[1])}`).join(" ");
  const measured = known.map((stop) => [stop.meaning, stop.named]);
  if (measured.length) picture.append(svg("polyline", { class: "line", points: path(measured) }));
  if (measured.length && choices.untouched !== null) {
    picture.append(
      svg("polyline", { class: "guess", points: path([measured.at(-1), [1, choices.untouched]]) }),
      svg("rect", { class: "dot", x: x(1) - 5, y: y(choices.untouched) - 5, width: 10, height: 10 }),
      svg("text", { x: x(1) - 10, y: y(choices.untouched) - 10, "text-anchor": "end" }, "original"),
    );
  }
  for (const stop of stops.filter((each) => each.named === null)) { // the attack may lie anywhere
    const mark = stop === here ? "unknown here" : "unknown";
    picture.append(svg("line", { class: mark, x1: x(stop.meaning), x2: x(stop.meaning), y1: y(0), y2: y(1) }));
  }
  for (const stop of known) {
    picture.append(svg("circle", { class: "dot", cx: x(stop.meaning), cy: y(stop.named), r: 5 }));
    if (stop.strength && stop !== here) {
      // Points may lie close together: one name below, one to the right, those between above.
      let where = { x: x(stop.meaning) + 16, y: y(stop.named) - 12, "text-anchor": "end" };
      if (stop === known[0]) where = { x: x(stop.meaning), y: y(stop.named) + 22, "text-anchor": "middle" };
      else if (stop === known.at(-1)) where = { x: x(stop.meaning) + 9, y: y(stop.named) + 14 };
      picture.append(svg("text", where, stop.strength));
    }
  }
  if (here.named === null) { // in the middle, where the words have room beside every such line
    const middle = { x: x(0.5), y: y(0.56), "text-anchor": "middle" };
    picture.append(svg("text", { class: "here-text", ...middle }, "you are here, attack not measured"));
  } else {
    const late = here.meaning > 0.5; // no room to the right of it
    const beside = { x: x(here.meaning) + (late ? 12 : 15), y: y(here.named) + 20, "text-anchor": late ? "end" : "start" };
    picture.append(
      svg("circle", { class: "here", cx: x(here.meaning), cy: y(here.named), r: 10 }),
      svg("text", { class: "here-text", ...beside }, `you are here: ${here.strength}`),
    );
  }
  $("curve").replaceChildren(picture);
  const parts = known.map((stop) => `${stop.strength} ${percent(stop.named)} at meaning ${stop.meaning.toFixed(2)}`);
  const untouched = choices.untouched === null ? "No attack was measured on this server's word vectors" : `Authors identified: ${parts.join("; ")}; original texts: up to ${percent(choices.untouched)}. Measured on public test texts with words in their places; the worst of several collections counts`;
  $("curve-caption").textContent = `${untouched}. Settings on a vertical dashed line were not attacked${measured.length ? "; the other dashed line only connects the points that were" : ""}. Meaning is computed for the words of an ordinary text.`;
}
