// What was measured of each strength, with "you are here".

import { $, make, percent } from "./ask.js";
import { choices, factor, stopsOf } from "./choices.js";

const figure = { class: "figure" };

export function showFigures(keep, here) {
  const [title, caption, heads, cells] = { label: ofAPool, own: ofOwn }[keep]?.() ?? ofWords();
  $("figures-title").textContent = title;
  $("figures-caption").textContent = caption;
  const rows = stopsOf(keep).map((stop) => make("tr", stop === here ? { class: "chosen" } : {},
    make("th", { scope: "row" }, stop.strength ?? stop.epsilon ?? stop.setting, ...(stop === here ? [make("span", { class: "here-mark" }, "you are here")] : [])),
    ...cells(stop).map((cell) => make("td", figure, cell))));
  const head = ["Strength", ...heads].map((text, place) => make("th", { scope: "col", ...(place ? figure : {}) }, text));
  $("figures").replaceChildren(make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": title }, make("table", {},
    make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...rows))));
}

// Whole texts: what is proved holds against every attack, so there is nothing to measure.
function ofAPool() {
  const labeled = choices.pool.labels.length > 0;
  return [
    "What each strength keeps",
    "Factor: whatever comes out is at most so many times as likely for one text as for any other; that is proved. The rest was measured on the public texts themselves. Nearness is the mean cosine between a text and its replacement: 1 would be the same text, 0 one drawn blindly.",
    ["Factor", ...(labeled ? ["Label stays"] : []), "Nearness"],
    (stop) => [factor(stop.epsilon), ...(labeled ? [percent(stop.label)] : []), stop.meaning.toFixed(2)],
  ];
}

const ofOwn = () => ["What is proved", "", ["Guarantee"], (stop) => [stop.guarantee]];

// Three risks, of which the first is the largest. A setting that nobody attacked has none.
function ofWords() {
  const names = choices.words.find((stop) => stop.risks.length)?.risks.map((risk) => risk.name) ?? [];
  const shares = (stop) => names.map((name) => {
    const found = stop.risks.find((risk) => risk.name === name);
    return found ? percent(found.share) : "not measured";
  });
  const measured = names.length ? `${choices.measured}. Texts of about ${choices.risk_words} words, each word in its place` : "No attack was measured on this server's word vectors";
  return [
    "Risk and meaning",
    `${measured}. Meaning is the mean cosine of true and released words, computed for the words of an ordinary text.`,
    [...names.map((name) => name[0].toUpperCase() + name.slice(1)), "Meaning"],
    (stop) => [...shares(stop), stop.meaning.toFixed(2)],
  ];
}
