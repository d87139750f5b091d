// Publish: a file through columns, strength and a look at five rows to its release.

import { $, ask, guarded, headers, json, make, percent, refused, save, show } from "./ask.js";
import { choices, chosen, keepChoices, keeps, publishable, readChoices, settingsOf, stopRisk, usualStop } from "./choices.js";

let file = null; // chosen or dropped last
let upload = null; // of it; an answer about another one comes too late and is not shown
let sending = null;
let changes = 0;
let polling;
const SUFFIX = /\.((txt|csv|tsv|jsonl|ndjson)(\.(gz|zst))?|parquet)$/i;
const SEPARATED = /\.[ct]sv(\.(gz|zst))?$/i; // files that may lack names of columns
const TEXTS = ["text", "review", "body", "comment", "message", "content", "post", "texts"];
const ROLES = [
  ["text", "a text to release"],
  ["copy", "copied unchanged"],
  ["drop", "left out"],
  ["id", "identifies the record; left out"],
  ["person", "identifies the person; left out"],
];
const STEPS = ["columns", "strength", "preview", "release"];
const PARTS = { output: "the released file", report: "the report", statement: "the statement" };

function reset() {
  clearTimeout(polling);
  upload = null;
  for (const step of STEPS) $(`step-${step}`).hidden = true;
  for (const id of ["running", "results", "rows-box", "sending"]) $(id).hidden = true;
  $("facts").replaceChildren();
  $("file-risk").textContent = "";
  $("looking").textContent = "";
  wait(false);
}

const wait = (waiting) => { for (const id of ["release", "look", "forget", "no-header"]) $(id).disabled = waiting; };
const isShown = (name) => upload?.upload === name;

// ---- 1: the file ---------------------------------------------------------------------------------

function send() {
  // The server keeps the one before for an hour if it cannot be deleted now, being released.
  if (upload) ask(`/v1/uploads/${upload.upload}`, undefined, "DELETE").catch(() => {});
  sending?.abort();
  reset();
  const suffix = SUFFIX.exec(file.name)?.[1].toLowerCase();
  if (!suffix) throw new Error("This kind of file cannot be read: choose a .csv, .tsv, .txt, .jsonl or .parquet file.");
  $("sending").hidden = false;
  $("sent").value = 0;
  return new Promise((done, failed) => {
    const request = sending = new XMLHttpRequest(); // fetch does not say how far it is
    request.open("POST", `/v1/uploads?suffix=${suffix}&encoding=${$("encoding").value}`);
    for (const [name, value] of Object.entries(headers({ "Content-Type": "application/octet-stream" }))) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => { $("sent").value = event.loaded / event.total; };
    request.onerror = () => failed(new Error("The file could not be sent: the server does not answer, or the file is too large for it."));
    request.onload = () => {
      let body = null;
      try {
        body = JSON.parse(request.responseText);
      } catch {
        // a proxy's page, for one
      }
      if (request.status === 201) done(body);
      else failed(refused(request.status, body));
    };
    request.send(file);
  }).finally(() => { $("sending").hidden = true; });
}

export const take = guarded(async (event) => {
  if (event.dataTransfer) $("file").value = ""; // so that it names no other file than is shown
  file = event.dataTransfer?.files[0] ?? $("file").files[0] ?? file;
  if (!file) return;
  if (!choices) await readChoices(); // the page may be younger than the file
  upload = await send(); // for ever, if another file is chosen meanwhile
  $("header-box").hidden = !SEPARATED.test(file.name);
  $("no-header").checked = !$("header-box").hidden && !upload.columns.some(isAName) && upload.columns.some(ofARecord);
  showColumns();
  showStrengths();
  for (const step of STEPS) $(`step-${step}`).hidden = false;
  await look();
});

// ---- 2: columns ----------------------------------------------------------------------------------

// Names that no record begins with: where one of them stands, the first line is a header.
const isAName = (cell) => [...TEXTS, "id", "user", "author", "name", "email", "date", "label"].includes(cell.trim().toLowerCase());

// Whether a cell of the first line is no name: a number (but for one that counts columns), or prose.
// A record taken for names would be published.
function ofARecord(cell, place) {
  if (/^[\s\d.,:/+-]*\d[\s\d.,:/+-]*$/.test(cell)) return ![place, place + 1].includes(Number(cell));
  return cell.length > 80 || (/[.!]\s*$/.test(cell) && cell.trim().split(/\s+/).length > 3);
}

function showColumns() {
  const numbered = $("no-header").checked;
  const names = upload.columns.map((cell, place) => (numbered ? `${place + 1}` : cell));
  const guess = TEXTS.find((name) => names.some((column) => column.toLowerCase() === name));
  const texts = names.find((column) => column.toLowerCase() === guess) ?? (names.length === 1 ? names[0] : null);
  $("columns-hint").hidden = !upload.columns.length;
  const needed = [choices.needs_ids && "the record", choices.needs_people && "the person"].filter(Boolean);
  $("columns-needed").textContent = needed.length ? `This server has budgets: one column must identify ${needed.join(", and one ")}.` : "";
  if (!upload.columns.length) {
    $("columns").replaceChildren(make("tbody", {}, make("tr", {}, make("td", {}, "One text per line: there are no columns."))));
    return;
  }
  const rows = names.map((column, place) => {
    const role = column === texts ? "text" : column.toLowerCase() === "id" && choices.needs_ids ? "id" : "drop";
    return columnRow(column, place, role, numbered ? `${column}: ${upload.columns[place].slice(0, 40)}` : column);
  });
  const head = make("tr", {}, ...["Column", "What happens to it"].map((name) => make("th", { scope: "col" }, name)));
  $("columns").replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
}

function columnRow(column, place, role, shown) {
  const choice = make("select", { id: `column-${place}`, "data-column": column });
  for (const [value, label] of ROLES) choice.append(make("option", { value }, label));
  choice.value = role;
  choice.addEventListener("change", stale);
  return make("tr", {}, make("th", { scope: "row" }, make("label", { for: choice.id }, shown)), make("td", {}, choice, make("span", { class: "flag" })));
}

// Keys of JSON that the first record does not have.
function addColumns(names) {
  const fresh = names.filter((column) => !selects().some((each) => each.dataset.column === column));
  for (const column of fresh) $("columns").tBodies[0].append(columnRow(column, selects().length, "drop", column));
}

const selects = () => [...$("columns").querySelectorAll("select")];

// ---- 3: what must stay, and how strong -----------------------------------------------------------

const keep = () => chosen("keep");
const stop = () => publishable(keep())[Number(document.querySelector("[name=strength]:checked")?.value ?? 0)];

function showStrengths() {
  $("keep").replaceChildren(...keepChoices("keep", () => { showStops(); stale(); }));
  showStops();
}

function showStops() {
  $("keep-hint").textContent = keeps(keep());
  const stops = publishable(keep());
  const usual = usualStop(keep(), stops);
  $("strengths").replaceChildren(...stops.map((each, place) => {
    const radio = make("input", { type: "radio", name: "strength", value: place });
    radio.checked = place === usual;
    radio.addEventListener("change", stale);
    return make("label", {}, radio, make("span", {}, each.strength ?? `epsilon ${each.epsilon}`, make("small", {}, stopRisk(keep(), each))));
  }));
}

function fileSettings() {
  const columns = (value) => selects().filter((each) => each.value === value).map((each) => each.dataset.column);
  const body = { ...settingsOf(keep(), stop()), delimiter: upload.delimiter, no_header: $("no-header").checked };
  if (!selects().length) return body;
  if (!columns("text").length) throw new Error("Choose at least one column of texts.");
  const [ids, people] = [columns("id"), columns("person")];
  if (ids.length > 1 || people.length > 1) throw new Error("Choose at most one column for the record and one for the person.");
  return {
    ...body,
    columns: columns("text"),
    id_column: ids[0] ?? null,
    person_column: people[0] ?? null,
    keep_columns: columns("copy"),
  };
}

// ---- 4: five rows --------------------------------------------------------------------------------

function stale() {
  changes++;
  $("rows-box").hidden = true;
  $("facts").replaceChildren();
  $("looking").textContent = "Something changed: look again before you release.";
}

const look = guarded(async () => {
  const wanted = upload.upload;
  const before = changes;
  wait(true); // the server reads the file, and would refuse to release or delete it meanwhile
  $("looking").textContent = "Reading…";
  try {
    const settings = fileSettings();
    const seen = await json(`/v1/uploads/${wanted}/preview`, settings);
    if (!isShown(wanted)) return;
    addColumns(seen.not_copied);
    flag(seen.telling);
    if (changes !== before) return;
    const shown = seen.looks.find((each) => each.name === stop().strength) ?? seen.looks[0];
    const cells = (tag, first, second) => make("tr", {}, ...[first, second].map((text) => make(tag, tag === "th" ? { scope: "col" } : {}, text)));
    $("rows").replaceChildren(
      make("thead", {}, cells("th", "Original", `One draw at ${shown.name}`)),
      make("tbody", {}, ...seen.texts.map((text, place) => cells("td", text, shown.texts[place]))),
    );
    $("rows-box").hidden = false;
    const elsewhere = ["copied unchanged", "not copied", "columns at risk"]; // the table of columns shows these
    const facts = seen.facts.filter(([name]) => !elsewhere.includes(name));
    $("facts").replaceChildren(...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
    $("file-risk").textContent = `Texts like yours, at ${shown.name}: ${shown.figures["measured risk"]}`;
    $("looking").textContent = shown.refusal ?? "";
  } catch (error) {
    if (!isShown(wanted)) return;
    $("looking").textContent = "";
    lost(error);
    throw error;
  } finally {
    if (isShown(wanted)) wait(false);
  }
});

function flag(telling) {
  for (const each of selects()) {
    const found = Object.hasOwn(telling, each.dataset.column) && telling[each.dataset.column];
    each.nextSibling.textContent = found && each.value === "copy" ? found : "";
  }
}

// The server no longer has the upload: what is shown of it goes, and the same file can be chosen.
function lost(error) {
  if (error.status === 404) forget();
}

function forget() {
  reset();
  file = null;
  $("file").value = "";
}

// ---- 5: the release ------------------------------------------------------------------------------

const begin = guarded(async () => {
  const wanted = upload.upload;
  const settings = fileSettings();
  wait(true);
  try {
    const state = await json(`/v1/uploads/${wanted}/release`, settings);
    if (!isShown(wanted)) return;
    $("results").hidden = true;
    $("running").hidden = false;
    showState(state);
  } catch (error) {
    if (isShown(wanted)) {
      wait(false);
      lost(error);
    }
    throw error;
  }
});

function duration(seconds) {
  if (seconds < 1) return "less than a second";
  const whole = Math.ceil(seconds);
  return seconds < 90 ? `${whole} ${whole === 1 ? "second" : "seconds"}` : `${Math.ceil(seconds / 60)} minutes`;
}

function showState(state) {
  $("done").value = state.share;
  if (state.state === "waiting") $("left").textContent = "waiting for another file";
  if (state.state === "running") {
    const left = state.seconds_left === null ? "" : `, ${duration(state.seconds_left)} left`;
    $("left").textContent = state.share ? `${percent(state.share)}${left}` : "preparing";
  }
  if (state.state === "waiting" || state.state === "running") {
    polling = setTimeout(poll, 700);
    return;
  }
  $("running").hidden = true;
  for (const id of ["release", "look", "no-header"]) $(id).disabled = state.state === "done";
  $("forget").disabled = false;
  if (state.state === "failed") {
    show(new Error(state.error));
    return;
  }
  $("finished").textContent = "Released and recorded in the ledger. Each file is deleted from the server once you have downloaded it.";
  $("lines").replaceChildren(...state.lines.map((line) => make("li", {}, line)));
  $("downloads").replaceChildren(...Object.keys(PARTS).map(downloader));
  $("results").hidden = false;
}

const poll = guarded(async () => {
  const wanted = upload.upload;
  try {
    const state = await json(`/v1/uploads/${wanted}`);
    if (isShown(wanted)) showState(state);
  } catch (error) {
    if (!isShown(wanted)) return;
    if (error.status !== 404) {
      $("left").textContent = "the server does not answer, trying again";
      polling = setTimeout(poll, 2000);
      throw error;
    }
    lost(error);
    throw new Error(`${error.message} The ledger says whether it was released.`);
  }
});

function downloader(part) {
  const button = make("button", { type: "button", id: `get-${part}`, class: part === "output" ? "main" : "" }, `Download ${PARTS[part]}`);
  button.addEventListener("click", guarded(async () => {
    const answer = await ask(`/v1/uploads/${upload.upload}/${part}`);
    const name = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition"))?.[1] ?? part;
    save(await answer.blob(), name);
    button.disabled = true;
    button.textContent = `Downloaded ${PARTS[part]}`;
  }));
  return button;
}

$("file").addEventListener("change", take);
$("file").addEventListener("click", () => { $("file").value = ""; }); // the same file again is a change
$("encoding").addEventListener("change", take); // the file that was chosen, read anew
$("no-header").addEventListener("change", () => { showColumns(); stale(); look(); });
$("look").addEventListener("click", look);
$("release").addEventListener("click", begin);
$("forget").addEventListener("click", guarded(async () => {
  const wanted = upload.upload;
  await ask(`/v1/uploads/${wanted}`, undefined, "DELETE").catch((error) => { if (error.status !== 404) throw error; });
  if (isShown(wanted)) forget();
}));
