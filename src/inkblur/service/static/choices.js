// What must stay, and how strong: Try and Publish offer the same, from what the server can do.

import { json, make, percent } from "./ask.js";

export let choices = null;
export async function readChoices() {
  choices = await json("/v1/choices");
}

const KEEPS = {
  words: {
    title: "Words, in place",
    hint: "Each word is replaced in its place by a random one. Words with a similar meaning are more likely; at a small epsilon, thousands count as similar.",
  },
  label: {
    title: "A label",
    hint: "Each text is replaced by a public text, drawn at random; those with the same label are more likely.",
    missing: "Needs a collection of public texts: start the server with --pool.",
  },
  topic: {
    title: "The topic only",
    hint: "The replacements are sorted: the topic of a text may show, its sentences do not.",
  },
  own: {
    title: "As this server’s owner set it",
    hint: "A setting that whoever started this server named.",
  },
};

export const keeps = (keep) => (keep === "label" && choices.pool ? labelHint() : KEEPS[keep].hint);

function labelHint() {
  const { name, texts, labels } = choices.pool;
  const which = labels.length ? `with the same label (${labels.slice(0, 5).join(", ")}${labels.length > 5 ? ", …" : ""})` : "like it";
  return `Each text is replaced by one of ${texts.toLocaleString("en")} public texts (${name}), drawn at random; those ${which} are more likely.`;
}

// How strong, the strongest first. Words that come sorted are drawn as they are in their places.
export const stopsOf = (keep) => (keep === "label" ? choices.pool.stops : keep === "own" ? choices.own : choices.words);
const offers = (keep) => (keep === "label" ? choices.pool !== null : stopsOf(keep).length > 0);

// Only what was attacked is published, unless nothing was attacked on this server's word vectors.
// A whole text's loss needs no attack to be worth something: it is proved, and small.
export function publishable(keep) {
  const attacked = stopsOf(keep).filter((stop) => stop.strength);
  return attacked.length ? attacked : stopsOf(keep);
}

export const usualStop = (keep, stops) =>
  keep === "label" ? Math.floor(stops.length / 2) : Math.max(0, stops.findIndex((stop) => stop.strength === "medium"));

export const settingsOf = (keep, stop) => ({ setting: keep === "topic" ? `${stop.setting}-topic` : stop.setting });

export function stopName(keep, stop) {
  if (keep === "own") return `${stop.setting}: ${stop.about}`;
  if (keep === "label") return `epsilon ${stop.epsilon} for the whole text`;
  return `${stop.strength ?? "weaker than light"}, epsilon ${stop.epsilon} per word`;
}

// What is known of a setting, in a line.
export function stopRisk(keep, stop) {
  if (keep === "own") return stop.guarantee;
  if (keep === "label") {
    const label = stop.label === null ? "" : `; the label stays in about ${percent(stop.label)} of the texts`;
    return `whatever comes out is at most ${factor(stop.epsilon)} times as likely for one text as for another${label}`;
  }
  const shares = stop.risks.map((each) => `${each.name}: ${percent(each.share)} (guessing: ${percent(each.guessing)})`);
  const placed = keep === "topic" ? ", with words in their places" : "";
  const risk = shares.length ? `in texts of about ${choices.risk_words} words${placed}: ${shares.join("; ")}` : "no attack was measured";
  return `epsilon ${stop.epsilon} per word; ${risk}`;
}

export const factor = (epsilon) => (Math.ceil(10 * Math.exp(epsilon)) / 10).toLocaleString("en"); // never less than it is

// The choice itself, as radio buttons of this name.
export function keepChoices(name, changed) {
  const shown = Object.entries(KEEPS).filter(([keep]) => keep === "label" || offers(keep));
  return shown.map(([keep, { title, missing }]) => {
    const radio = make("input", { type: "radio", name, value: keep, id: `${name}-${keep}` });
    radio.disabled = !offers(keep);
    radio.checked = keep === shown.find(([each]) => offers(each))[0];
    radio.addEventListener("change", changed);
    const text = make("span", {}, title, ...(radio.disabled ? [make("small", {}, missing)] : []));
    return make("label", {}, radio, text);
  });
}

export const chosen = (name) => document.querySelector(`[name=${name}]:checked`)?.value ?? "words";
