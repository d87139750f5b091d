// The page asks its own server for everything; no text leaves it in an address or a storage.
"use strict";

const $ = (id) => document.getElementById(id);
const percent = (share) => `${Math.round(100 * share)} %`;
const number = new Intl.NumberFormat("en");
let token = "";
let curve = null;

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// ---- asking the server -------------------------------------------------------------------------

const headers = (more = {}) => (token ? { ...more, Authorization: `Bearer ${token}` } : more);

async function told(answer) {
  if (answer.ok) return answer;
  let message = `The server answered ${answer.status}.`;
  try {
    message = (await answer.json()).error.message;
  } catch {
    // a proxy's page, for one
  }
  const error = new Error(message);
  error.status = answer.status;
  if (answer.status === 401) $("token-form").hidden = false;
  throw error;
}

async function ask(path, body, method) {
  const how = { method: method ?? (body === undefined ? "GET" : "POST"), headers: headers() };
  if (body !== undefined) {
    how.headers = headers({ "Content-Type": "application/json" });
    how.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(path, how);
  } catch {
    throw new Error("The server does not answer. If it was restarted, try again in a moment.");
  }
  return told(answer);
}

const json = async (path, body, method) => (await ask(path, body, method)).json();

function show(error) {
  $("error").textContent = error.message;
  $("error").hidden = false;
}

const settled = () => { $("error").hidden = true; };

function guarded(action) {
  return async (event) => {
    event?.preventDefault?.();
    settled();
    try {
      await action(event);
    } catch (error) {
      show(error);
    }
  };
}

// ---- tabs ----------------------------------------------------------------------------------------

const tabs = [...document.querySelectorAll("[role=tab]")];

function select(tab, focus = true) {
  for (const each of tabs) {
    const chosen = each === tab;
    each.setAttribute("aria-selected", chosen);
    each.tabIndex = chosen ? 0 : -1;
    $(each.getAttribute("aria-controls")).hidden = !chosen;
  }
  if (focus) tab.focus();
  settled();
  hideDraws();
  if (tab.id === "tab-ledger") readLedger();
  if (tab.id === "tab-try" && curve) drawCurve(); // it had no width while hidden
}

for (const [place, tab] of tabs.entries()) {
  tab.addEventListener("click", () => select(tab));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) select(tabs[(place + step + tabs.length) % tabs.length]);
    if (event.key === "Home") select(tabs[0]);
    if (event.key === "End") select(tabs[tabs.length - 1]);
  });
}

// ---- Try -----------------------------------------------------------------------------------------

const stops = () => curve?.points ?? [];
const stop = () => stops()[Number($("slider").value)];
const stay = () => document.querySelector("[name=stay]:checked").value;
const HINTS = {
  words: "Each word is drawn anew and stands where the true one stood.",
  topic: "The drawn words come sorted: what the text is about may show, its sentences do not.",
  label: "The whole text is replaced by one of the server's public texts; its label mostly stays.",
};

function settings() {
  if (stay() === "label") return { unit: "text", epsilon: stop().epsilon };
  const kind = { mechanism: curve.mechanism, release: stay() === "topic" ? "bag" : "sequence" };
  return stop().strength ? { ...kind, strength: stop().strength } : { ...kind, epsilon: stop().epsilon };
}

let drawn = 0;

async function draw() {
  const text = $("text").value.trim();
  const turn = ++drawn;
  describeStop();
  if (!text || !curve) {
    $("released").replaceChildren(text ? "" : "Nothing to draw yet.");
    $("released").setAttribute("aria-busy", "false");
    $("count").textContent = "";
    return;
  }
  $("released").setAttribute("aria-busy", "true");
  try {
    const seen = await json("/v1/preview", { text, ...settings() });
    if (turn !== drawn) return; // a later one is on its way
    settled();
    showPreview(seen);
  } catch (error) {
    if (turn === drawn) show(error);
  } finally {
    if (turn === drawn) $("released").setAttribute("aria-busy", "false");
  }
}

function describeStop() {
  const here = stop();
  if (!here) return;
  const name = here.strength ?? "weaker than light";
  $("stop").textContent = stay() === "label" ? `epsilon ${here.epsilon} for the whole text` : `${name}, epsilon ${here.epsilon} a word`;
  $("slider").setAttribute("aria-valuetext", $("stop").textContent);
  $("stop-hint").textContent = here.strength && stay() !== "label"
    ? "A strength whose risk was measured, on words in their places."
    : "To see what it would give: no attack was measured here, and Publish does not offer it.";
  $("stay-hint").textContent = HINTS[stay()];
  drawCurve();
}

function showPreview(seen) {
  const box = $("released");
  $("legend").hidden = !seen.pieces;
  if (seen.pieces) {
    const pieces = seen.pieces.filter((piece) => piece.released);
    box.replaceChildren(...pieces.flatMap((piece, place) => [pieceButton(piece, place), " "]));
  } else {
    box.replaceChildren(seen.released);
  }
  const left = seen.words_left === null ? "" : `, of which about ${percent(seen.words_left)} stay`;
  $("count").textContent = seen.pieces ? `${number.format(seen.words)} words${left}` : "";
  $("loss-word").textContent = seen.loss_word;
  $("loss-text").textContent = seen.loss_text;
  $("risk").textContent = seen.risk
    ? `${seen.risk[0].toUpperCase()}${seen.risk.slice(1)}. A better attack may come.`
    : "No attack was measured at this setting.";
  $("note").textContent = seen.note;
}

const MEANS = { near: "near word", filling: "filling", null: "null", kept: "unchanged", copied: "copied", dropped: "" };

function pieceButton(piece, place) {
  const button = make("button", { type: "button", class: piece.mark, tabindex: place ? "-1" : "0" }, piece.released);
  button.setAttribute("aria-label", `${piece.released}, for ${piece.written}: ${MEANS[piece.mark]}`);
  button.dataset.word = piece.written;
  return button;
}

const bare = (word) => word.replace(/^\W+|\W+$/gu, "") || word;
let hovering = 0;

async function showDraws(button) {
  const turn = ++hovering;
  await new Promise((go) => setTimeout(go, 180)); // not for every word that is passed over
  if (turn !== hovering) return;
  let seen;
  try {
    seen = await json("/v1/preview/word", { word: button.dataset.word, ...settings() });
  } catch (error) {
    if (turn === hovering) show(error);
    return;
  }
  if (turn !== hovering || !button.isConnected) return;
  const items = Object.entries(seen.drawn).map(([word, times]) =>
    make("li", {}, times > 1 ? `${word} × ${times}` : word));
  const stays = seen.stays === null ? "does not depend on the word" : `stays with ${(100 * seen.stays).toPrecision(2)} %`;
  $("draws").replaceChildren(make("b", {}, `${bare(button.dataset.word)}: ${stays}. Ten draws:`), make("ul", {}, ...items));
  $("draws").hidden = false;
  button.setAttribute("aria-describedby", "draws");
  const at = button.getBoundingClientRect();
  const width = $("draws").offsetWidth;
  const left = Math.max(8, Math.min(at.left, document.documentElement.clientWidth - width - 8));
  $("draws").style.left = `${left + scrollX}px`;
  $("draws").style.top = `${at.bottom + scrollY + 6}px`;
}

function hideDraws() {
  hovering++;
  $("draws").hidden = true;
  document.querySelector("[aria-describedby=draws]")?.removeAttribute("aria-describedby");
}

const pieceOf = (event) => event.target.closest?.("#released button");
$("released").addEventListener("mouseover", (event) => { if (pieceOf(event)) { hideDraws(); showDraws(pieceOf(event)); } });
$("released").addEventListener("mouseout", hideDraws);
$("released").addEventListener("focusin", (event) => { if (pieceOf(event)) { hideDraws(); showDraws(pieceOf(event)); } });
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

let typing;
$("text").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(draw, 400); });
$("slider").addEventListener("input", () => { describeStop(); clearTimeout(typing); typing = setTimeout(draw, 150); });
for (const radio of document.querySelectorAll("[name=stay]")) radio.addEventListener("change", draw);
$("again").addEventListener("click", draw);

// The curve: measured strengths, joined; weaker settings, whose attack nobody measured; untouched.
function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function drawCurve() {
  const width = Math.max(280, Math.min(620, $("curve").clientWidth || 560)); // letters keep their size
  const [height, left, bottom, top, right] = [300, 48, 252, 26, 12];
  const x = (meaning) => left + meaning * (width - left - right);
  const y = (named) => bottom - named * (bottom - top);
  const known = stops().filter((point) => point.named !== null);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": "curve-caption" });
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    picture.append(
      svg("line", { class: "axis", x1: left, x2: width - right, y1: y(share), y2: y(share) }),
      svg("text", { x: left - 8, y: y(share) + 4, "text-anchor": "end" }, percent(share)),
      svg("text", { x: x(share), y: bottom + 18, "text-anchor": "middle" }, share.toString()),
    );
  }
  picture.append(
    svg("text", { x: left, y: height - 8 }, width > 400 ? "meaning kept: mean cosine of true and released words" : "meaning kept (mean cosine of words)"),
    svg("text", { x: 0, y: 12 }, width > 400 ? "authors named by the strongest attack tried" : "authors named by the best attack tried"),
  );
  const path = (points) => points.map((point) => `${x(point[0])},${y(point[1])}`).join(" ");
  const measured = known.map((point) => [point.meaning, point.named]);
  if (measured.length) picture.append(svg("polyline", { class: "line", points: path(measured) }));
  if (measured.length && curve.untouched !== null) {
    picture.append(
      svg("polyline", { class: "guess", points: path([measured[measured.length - 1], [1, curve.untouched]]) }),
      svg("rect", { class: "dot", x: x(1) - 5, y: y(curve.untouched) - 5, width: 10, height: 10 }),
      svg("text", { x: x(1) - 10, y: y(curve.untouched) - 10, "text-anchor": "end" }, "untouched"),
    );
  }
  for (const point of stops()) {
    const shown = point.named ?? 0;
    picture.append(svg("circle", { class: point.named === null ? "hollow" : "dot", cx: x(point.meaning), cy: y(shown), r: 5 }));
    if (point.strength && point !== stop()) {
      const below = point !== known[known.length - 1]; // the line rises to the right
      const where = below ? { x: x(point.meaning), y: y(shown) + 22, "text-anchor": "middle" } : { x: x(point.meaning) + 9, y: y(shown) + 14 };
      picture.append(svg("text", where, point.strength));
    }
  }
  const here = stop();
  if (here && stay() === "words") {
    const level = here.named ?? 0;
    const late = here.meaning > 0.5; // no room to the right of it
    const beside = { x: x(here.meaning) + (late ? 12 : 15), y: y(level) - 15, "text-anchor": late ? "end" : "start" };
    picture.append(
      svg("circle", { class: "here", cx: x(here.meaning), cy: y(level), r: 10 }),
      svg("text", { class: "here-text", ...beside },
        here.named === null ? "you are here, attack not measured" : `you are here: ${here.strength}`),
    );
  }
  $("curve").replaceChildren(picture);
  const parts = known.map((point) => `${point.strength}: ${percent(point.named)} named at meaning ${point.meaning.toFixed(2)}`);
  $("curve-caption").textContent =
    `${parts.join("; ")}; untouched texts: ${percent(curve.untouched ?? 0)}. On public test texts, the worst of several collections. ` +
    "Hollow points were not attacked; the broken line only joins what was. Meaning is computed for the words of a usual text.";
}

addEventListener("resize", () => { if (curve) drawCurve(); });

// ---- Publish -------------------------------------------------------------------------------------

let upload = null;
let polling;
const SUFFIX = /\.((txt|csv|tsv|jsonl|ndjson|json)(\.(gz|zst))?|parquet)$/i;
const TEXTS = ["text", "review", "body", "comment", "message", "content", "post", "texts"];
const ROLES = [
  ["text", "a text to release"],
  ["copy", "copied as it is"],
  ["drop", "left out"],
  ["id", "names the record; left out"],
  ["person", "names the person; left out"],
];
const STEPS = ["columns", "strength", "preview", "release"];

function reset() {
  clearTimeout(polling);
  upload = null;
  for (const step of STEPS) $(`step-${step}`).hidden = true;
  for (const id of ["running", "results", "rows-box", "sending"]) $(id).hidden = true;
  $("facts").replaceChildren();
  $("looking").textContent = "";
  $("look").disabled = $("release").disabled = $("forget").disabled = false;
}

function send(file) {
  const suffix = SUFFIX.exec(file.name)?.[1].toLowerCase();
  if (!suffix) throw new Error("This is none of the kinds of file that can be read: choose a .csv, .tsv, .txt, .jsonl, .json or .parquet file.");
  reset();
  $("sending").hidden = false;
  $("sent").value = 0;
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest(); // fetch does not say how far it is
    request.open("POST", `/v1/uploads?suffix=${suffix}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    if (token) request.setRequestHeader("Authorization", `Bearer ${token}`);
    request.upload.onprogress = (event) => { $("sent").value = event.loaded / event.total; };
    request.onerror = () => failed(new Error("The file could not be sent: the server does not answer, or the file is too large for it."));
    request.onload = () => {
      let body = {};
      try {
        body = JSON.parse(request.responseText);
      } catch {
        // a proxy's page, for one
      }
      if (request.status === 401) $("token-form").hidden = false;
      if (request.status === 201) done(body);
      else failed(new Error(body.error?.message ?? `The server answered ${request.status}.`));
    };
    request.send(file);
  }).finally(() => { $("sending").hidden = true; });
}

const take = guarded(async (event) => {
  const file = event.dataTransfer?.files[0] ?? $("file").files[0];
  if (!file) return;
  upload = await send(file);
  showColumns();
  showStrengths();
  for (const step of STEPS) $(`step-${step}`).hidden = false;
  await look();
});

function showColumns() {
  const guess = TEXTS.find((name) => upload.columns.some((column) => column.toLowerCase() === name));
  const texts = upload.columns.find((column) => column.toLowerCase() === guess) ?? upload.columns[upload.columns.length - 1];
  $("step-columns").classList.toggle("plain", !upload.columns.length);
  $("columns-hint").hidden = !upload.columns.length;
  const needed = [curve.needs_ids && "the record", curve.needs_people && "the person"].filter(Boolean);
  $("columns-needed").textContent = needed.length ? `This server has budgets: one column must name ${needed.join(", and one ")}.` : "";
  if (!upload.columns.length) {
    $("columns").replaceChildren(make("tbody", {}, make("tr", {}, make("td", {}, "One text a line: there are no columns."))));
    return;
  }
  const rows = upload.columns.map((column, place) => {
    const choice = make("select", { id: `column-${place}`, "data-column": column });
    for (const [value, label] of ROLES) choice.append(make("option", { value }, label));
    choice.value = column === texts ? "text" : column.toLowerCase() === "id" && curve.needs_ids ? "id" : "copy";
    choice.addEventListener("change", () => { choice.dataset.chosen = "yes"; stale(); });
    return make("tr", {}, make("th", { scope: "row" }, make("label", { for: choice.id }, column)), make("td", {}, choice), make("td", { class: "flag" }));
  });
  const head = make("tr", {}, ...["Column", "What becomes of it", "Note"].map((name) => make("th", { scope: "col" }, name)));
  $("columns").replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
}

function showStrengths() {
  const known = stops().filter((point) => point.strength);
  $("strengths").replaceChildren(...known.map((point) => {
    const radio = make("input", { type: "radio", name: "strength", value: point.strength });
    radio.checked = point.strength === "medium";
    radio.addEventListener("change", stale);
    const risk = `epsilon ${point.epsilon} a word; the strongest attack tried named ${percent(point.named)} of the authors`;
    return make("label", {}, radio, make("span", {}, point.strength, make("small", {}, risk)));
  }));
}

const choices = () => [...$("columns").querySelectorAll("select")];
const strength = () => document.querySelector("[name=strength]:checked")?.value ?? "medium";

function fileSettings() {
  const columns = (value) => choices().filter((each) => each.value === value).map((each) => each.dataset.column);
  const flagged = choices().filter((each) => each.value === "copy" && each.dataset.flagged).map((each) => each.dataset.column);
  const body = { mechanism: curve.mechanism, strength: strength(), delimiter: upload.delimiter };
  if (!choices().length) return body;
  if (!columns("text").length) throw new Error("Choose at least one column of texts.");
  const [ids, people] = [columns("id"), columns("person")];
  if (ids.length > 1 || people.length > 1) throw new Error("Choose one column that names the record, and one that names the person.");
  return {
    ...body,
    columns: columns("text"),
    id_column: ids[0] ?? null,
    person_column: people[0] ?? null,
    drop_columns: [...columns("drop"), ...ids, ...people],
    keep_columns: flagged,
  };
}

function stale() {
  $("rows-box").hidden = true;
  $("facts").replaceChildren();
  $("looking").textContent = "Something was changed: look again before you release.";
}

const look = guarded(async () => {
  const wanted = upload.upload;
  $("look").disabled = true;
  $("looking").textContent = "Reading…";
  try {
    // Without `keep_columns`, so that every column that tells something is named.
    const wanted_columns = fileSettings();
    const named = [wanted_columns.id_column, wanted_columns.person_column].filter(Boolean);
    const asked = { ...wanted_columns, keep_columns: [], drop_columns: named };
    const seen = await json(`/v1/uploads/${wanted}/preview`, asked);
    if (upload?.upload !== wanted) return;
    flag(seen.telling);
    const chosen = seen.looks.find((each) => each.name === strength()) ?? seen.looks[0];
    const cells = (tag, first, second) => make("tr", {}, make(tag, tag === "th" ? { scope: "col" } : {}, first), make(tag, tag === "th" ? { scope: "col" } : {}, second));
    $("rows").replaceChildren(
      make("thead", {}, cells("th", "As it is", `One draw at ${chosen.name}`)),
      make("tbody", {}, ...seen.texts.map((text, place) => cells("td", text, chosen.texts[place]))),
    );
    $("rows-box").hidden = false;
    const here = ["copied as is", "identifiers?"]; // the table of columns shows these
    const facts = seen.facts.filter(([name]) => !here.includes(name));
    $("facts").replaceChildren(...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
    $("looking").textContent = chosen.refusal ?? "";
  } catch (error) {
    $("looking").textContent = "";
    lost(error);
    throw error;
  } finally {
    $("look").disabled = false;
  }
});

function flag(telling) {
  for (const each of choices()) {
    const found = Object.entries(telling).find(([path]) => path === each.dataset.column || path.startsWith(`${each.dataset.column}.`));
    each.closest("tr").lastChild.textContent = found && each.value !== "text" ? `an identifier? ${found[1]}` : "";
    if (!found) continue;
    each.dataset.flagged = "yes";
    if (!each.dataset.chosen && each.value === "copy") each.value = "drop";
  }
}

// The server no longer has the upload: what is shown of it goes, and the same file can be chosen.
function lost(error) {
  if (error.status !== 404) return;
  reset();
  $("file").value = "";
}

const begin = guarded(async () => {
  const state = await json(`/v1/uploads/${upload.upload}/release`, fileSettings())
    .catch((error) => { lost(error); throw error; });
  $("release").disabled = $("look").disabled = $("forget").disabled = true;
  $("results").hidden = true;
  $("running").hidden = false;
  showState(state);
});

function duration(seconds) {
  if (seconds < 1) return "less than a second";
  return seconds < 90 ? `${Math.ceil(seconds)} seconds` : `${Math.ceil(seconds / 60)} minutes`;
}

function showState(state) {
  $("done").value = state.share;
  if (state.state === "waiting") $("left").textContent = "waiting for another file";
  if (state.state === "running") {
    const left = state.seconds_left === null ? "" : `, ${duration(state.seconds_left)} left`;
    $("left").textContent = `${percent(state.share)}${left}`;
  }
  if (state.state === "waiting" || state.state === "running") {
    polling = setTimeout(poll, 700);
    return;
  }
  $("running").hidden = true;
  $("release").disabled = state.state === "done";
  $("look").disabled = state.state === "done";
  $("forget").disabled = false;
  if (state.state === "failed") {
    show(new Error(state.error));
    return;
  }
  $("finished").textContent = "Released, and entered in the ledger. Each file is deleted from the server when it was downloaded.";
  $("lines").replaceChildren(...state.lines.map((line) => make("li", {}, line)));
  $("downloads").replaceChildren(...["output", "report", "statement"].map(downloader));
  $("results").hidden = false;
}

const poll = guarded(async () => {
  try {
    showState(await json(`/v1/uploads/${upload.upload}`));
  } catch (error) {
    if (error.status !== 404) {
      $("left").textContent = "the server does not answer, trying again";
      polling = setTimeout(poll, 2000);
      throw error;
    }
    lost(error);
    throw new Error(`${error.message} Whether it was released is in the ledger.`);
  }
});

function downloader(part) {
  const button = make("button", { type: "button", id: `get-${part}` }, `Download the ${part}`);
  button.addEventListener("click", guarded(async () => {
    const answer = await ask(`/v1/uploads/${upload.upload}/${part}`);
    const name = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition"))?.[1] ?? part;
    save(await answer.blob(), name);
    button.disabled = true;
    button.textContent = `${part} downloaded, deleted here`;
  }));
  return button;
}

function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

$("file").addEventListener("change", take);
$("file").addEventListener("click", () => { $("file").value = ""; }); // the same file again is a change
$("look").addEventListener("click", look);
$("release").addEventListener("click", begin);
$("forget").addEventListener("click", guarded(async () => {
  await ask(`/v1/uploads/${upload.upload}`, undefined, "DELETE").catch((error) => { if (error.status !== 404) throw error; });
  reset();
  $("file").value = "";
}));

for (const [id, dropped] of [["drop-text", dropText], ["drop-file", take]]) {
  const zone = $(id);
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    if (event.dataTransfer.files.length) dropped(event);
  });
}

async function dropText(event) {
  const file = event.dataTransfer.files[0];
  if (/\.txt$/i.test(file.name) && file.size < 1e6) {
    $("text").value = (await file.text()).slice(0, 20000);
    draw();
  } else {
    select($("tab-publish"));
    take({ dataTransfer: { files: [file] } });
  }
}

// ---- Ledger --------------------------------------------------------------------------------------

const readLedger = guarded(async () => {
  const ledger = await json("/v1/ledger");
  const budgets = [];
  if (ledger.budget !== null) budgets.push(`a record may spend ${number.format(ledger.budget)} in all`);
  if (ledger.person_budget !== null) budgets.push(`a person ${number.format(ledger.person_budget)}`);
  const limits = budgets.length ? `Budgets: ${budgets.join(", ")}.` : "No budget is set: releases are counted, and none is refused for what it spends.";
  const shown = ledger.releases.length < ledger.total ? `the newest ${ledger.releases.length} of ` : "";
  $("budgets").textContent = `${limits} ${shown}${number.format(ledger.total)} ${ledger.total === 1 ? "release" : "releases"}.`;
  $("newest").textContent = ledger.anchor;
  $("owner-box").hidden = !token;
  const heads = [["When (UTC)"], ["Who"], ["What"], ["Texts", 1], ["Draws", 1], ["Loss in all", 1], ["State"]];
  const cell = (tag, text, figure, more = {}) => make(tag, figure ? { ...more, class: "figure" } : more, text);
  const rows = ledger.releases.map((each) => make("tr", {},
    cell("td", each.opened.slice(0, 16).replace("T", " ")),
    cell("td", each.caller || "this machine"),
    cell("td", `${each.mechanism}, epsilon ${each.epsilon}${each.unit === "word" ? "" : ` a ${each.unit}`}`),
    cell("td", number.format(each.records), 1),
    cell("td", number.format(each.words), 1),
    cell("td", number.format(each.loss), 1),
    cell("td", each.state)));
  const body = rows.length ? rows : [make("tr", {}, make("td", { colspan: "7" }, "Nothing was released yet."))];
  $("releases").replaceChildren(
    make("thead", {}, make("tr", {}, ...heads.map(([text, figure]) => cell("th", text, figure, { scope: "col" })))),
    make("tbody", {}, ...body));
});

$("refresh").addEventListener("click", readLedger);
$("spent-form").addEventListener("submit", guarded(async () => {
  const asked = { person: $("person").value, caller: token ? $("owner").value : "" };
  const { spaces } = await json("/v1/ledger/spent", asked);
  const lines = spaces.map((each) => {
    const left = each.left === null ? "" : `, ${number.format(each.left)} left`;
    return `${number.format(each.spent)} spent${left} (${each.space})`;
  });
  $("spent").textContent = lines.length ? `${lines.join("; ")}.` : "Nothing was released for this person.";
}));
$("verify-form").addEventListener("submit", guarded(async () => {
  const { intact, problems } = await json("/v1/ledger/verify", { anchor: $("anchor").value.trim() || null });
  $("verified").className = intact ? "good" : "bad";
  const unseen = $("anchor").value.trim() ? "" : " Without an anchor a removed end does not show.";
  $("verified").textContent = intact ? `Intact: no entry was changed or removed.${unseen}` : problems.join("; ");
}));
$("export").addEventListener("click", guarded(async () => {
  save(await (await ask("/v1/ledger/export")).blob(), "ledger.csv");
}));

// ---- beginning -----------------------------------------------------------------------------------

const start = guarded(async () => {
  curve = await json("/v1/curve");
  $("token-form").hidden = true;
  $("slider").max = stops().length - 1;
  $("slider").value = Math.max(0, stops().findIndex((point) => point.strength === "medium"));
  $("stay-label").disabled = !curve.pool;
  if (!curve.pool) $("stay-label").parentElement.title = "This server was started without --pool";
  await draw();
});

$("token-form").addEventListener("submit", guarded(async () => {
  token = $("token").value.trim();
  await start();
}));
start();
