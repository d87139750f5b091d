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
  $("stop-hint").textContent = keep() === "label"
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
  $("legend").hidden = $("legend-hint").hidden = !pieces;
  $("released").replaceChildren(...(pieces ? pieces.flatMap((piece, place) => [pieceButton(piece, place), " "]) : [seen.released]));
  const left = seen.words_left === null ? "" : `, about ${percent(seen.words_left)} stay`;
  $("count").textContent = pieces ? `${number.format(seen.words)} ${seen.words === 1 ? "word" : "words"}${left}` : "";
  $("loss-word").textContent = seen.loss_word;
  $("loss-text").textContent = seen.loss_text;
  $("risk").replaceChildren(...(seen.kept ? [seen.kept] : seen.risks).map((line) => make("li", {}, line)));
  $("note").textContent = seen.note;
}

const MEANS = { near: "near word", filling: "filling", null: "null", kept: "unchanged", copied: "copied", dropped: "" };

function pieceButton(piece, place) {
  const button = make("button", { type: "button", class: piece.mark, tabindex: place ? "-1" : "0" }, piece.released);
  button.setAttribute("aria-label", `${piece.released}, for ${piece.written}: ${MEANS[piece.mark]}`);
  button.dataset.word = piece.written;
  return button;
}

// ---- ten draws of a word -------------------------------------------------------------------------

const bare = (word) => word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "") || word;
let hovering = 0;

async function showDraws(button) {
  const turn = ++hovering;
  await new Promise((go) => setTimeout(go, 180)); // not for every word that is passed over
  if (turn !== hovering) return;
  let seen;
  try {
    seen = await json("/v1/preview/word", { word: button.dataset.word, ...settingsOf(keep(), stop()) });
  } catch (error) {
    if (turn === hovering) show(error);
    return;
  }
  if (turn !== hovering || !button.isConnected) return;
  const items = Object.entries(seen.drawn).map(([word, times]) =>
    make("li", {}, times > 1 ? `${word} × ${times}` : word));
  const stays = seen.stays === null ? "the result does not depend on it" : `stays with ${(100 * seen.stays).toPrecision(2)}%`;
  $("draws").replaceChildren(make("b", {}, `${bare(button.dataset.word)}: ${stays}. Ten draws:`), make("ul", {}, ...items));
  $("draws").hidden = false;
  button.setAttribute("aria-describedby", "draws");
  const at = button.getBoundingClientRect();
  const width = $("draws").offsetWidth;
  const left = Math.max(8, Math.min(at.left, document.documentElement.clientWidth - width - 8));
  $("draws").style.left = `${left + scrollX}px`;
  $("draws").style.top = `${at.bottom + scrollY + 6}px`;
}

export function hideDraws() {
  hovering++;
  $("draws").hidden = true;
  document.querySelector("[aria-describedby=draws]")?.removeAttribute("aria-describedby");
}

const pieceOf = (event) => event.target.closest?.("#released button");
const enter = (event) => { if (pieceOf(event)) { hideDraws(); showDraws(pieceOf(event)); } };
$("released").addEventListener("mouseover", enter);
$("released").addEventListener("mouseout", hideDraws);
$("released").addEventListener("focusin", enter);
$("released").addEventListener("focusout", hideDraws);
$("released").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const all = [...$("released").querySelectorAll("button")];
  const place = all.indexOf(pieceOf(event));
  if (!step || place < 0) return;
  event.preventDefault();
  const next = all[Math.max(0, Math.min(all.length - 1, place + step))];
  all[place].tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideDraws(); });

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
  const needed = keep() === "label" ? "label" : "words"; // a topic is drawn as words are
  if (needed !== range) slide();
  range = needed;
  draw();
}

export async function startTry() {
  $("stay").replaceChildren(...keepChoices("stay", changed));
  range = "words";
  slide();
  await draw();
}
