// Try: a text beside one draw of it.

import { $, json, make, number, percent, settled, show } from "./ask.js";
import { choices, chosen, keepChoices, keeps, settingsOf, stopName, stopsOf, usualStop } from "./choices.js";
import { showFigures } from "./figures.js";

const keep = () => chosen("stay");
const stop = () => stopsOf(keep())[Number($("slider").value)];
let drawn = 0;

export async function draw() {
  const text = $("text").value.trim();
  const turn = ++drawn;
  if (!choices) return;
  describe();
  if (!text) {
    $("released").replaceChildren("Nothing to draw yet.");
    $("released").setAttribute("aria-busy", "false");
    for (const id of ["count", "loss-word", "loss-text", "risk", "note"]) $(id).textContent = ""; // they spoke of another text
    return;
  }
  $("released").setAttribute("aria-busy", "true");
  try {
    const seen = await json("/v1/preview", { text, ...settingsOf(keep(), stop()) });
    if (turn !== drawn) return; // a later one is on its way
    settled();
    showPreview(seen);
  } catch (error) {
    if (turn === drawn) show(error);
  } finally {
    if (turn === drawn) $("released").setAttribute("aria-busy", "false");
  }
}

function describe() {
  $("stop").textContent = stopName(keep(), stop());
  $("slider").setAttribute("aria-valuetext", $("stop").textContent);
  $("stop-hint").textContent = keep() === "own" ? stop().guarantee : keep() === "label"
    ? "Epsilon is the privacy loss of a text: the smaller, the less the result depends on it."
    : `Epsilon is the privacy loss of a word: the smaller, the more is hidden. ${attacked()}`;
  $("stay-hint").textContent = keeps(keep());
  showFigures(keep(), stop());
}

function attacked() {
  if (stop().strength) return "Attacks on this strength were measured.";
  return choices.words.every((each) => !each.strength) ? "No attack was measured on this server's word vectors." : "No attack was measured at this setting, so Publish does not offer it.";
}

function showPreview(seen) {
  const pieces = seen.pieces?.filter((piece) => piece.released);
  $("legend").hidden = !pieces;
  $("released").replaceChildren(...(pieces ? pieces.flatMap((piece) => [marked(piece), " "]) : [seen.released]));
  const left = seen.words_left === null ? "" : `, about ${percent(seen.words_left)} stay`;
  $("count").textContent = pieces ? `released as ${number.format(seen.words)} ${seen.words === 1 ? "word" : "words"}${left}` : "";
  $("loss-word").textContent = seen.loss_word;
  $("loss-text").textContent = seen.loss_text;
  $("risk").replaceChildren(...(seen.kept ? [seen.kept] : seen.risks).map((line) => make("li", {}, line)));
  $("note").textContent = seen.note;
}

const MEANS = { near: "near word", filling: "filling", null: "null", kept: "unchanged", copied: "copied", dropped: "" };

function marked(piece) {
  const told = `for ${piece.written}: ${MEANS[piece.mark]}`;
  return make("span", { class: piece.mark, role: "img", "aria-label": `${piece.released}, ${told}`, title: told }, piece.released);
}

// ---- what is chosen ------------------------------------------------------------------------------

let typing;
const soon = (wait) => { clearTimeout(typing); typing = setTimeout(draw, wait); };
$("text").addEventListener("input", () => soon(400));
$("slider").addEventListener("input", () => { if (choices) { describe(); soon(150); } });
$("again").addEventListener("click", draw);

function slide() {
  const stops = stopsOf(keep());
  $("slider").max = stops.length - 1;
  $("slider").value = usualStop(keep(), stops);
}

let range = "words"; // whose stops the slider has
function changed() {
  const needed = keep() === "topic" ? "words" : keep(); // a topic is drawn as words are
  if (needed !== range) slide();
  range = needed;
  draw();
}

export async function startTry() {
  $("stay").replaceChildren(...keepChoices("stay", changed));
  range = keep();
  slide();
  await draw();
}
