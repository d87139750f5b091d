// The page: its tabs, its token, and what is dropped on it.

import { $, guarded, settled, useToken } from "./ask.js";
import { readChoices } from "./choices.js";
import { readLedger } from "./ledger.js";
import { take } from "./publish.js";
import { draw, startTry } from "./try.js";

const tabs = [...document.querySelectorAll("[role=tab]")];

function select(tab) {
  for (const each of tabs) {
    const selected = each === tab;
    each.setAttribute("aria-selected", selected);
    each.tabIndex = selected ? 0 : -1;
    $(each.getAttribute("aria-controls")).hidden = !selected;
  }
  tab.focus();
  settled();
  if (tab.id === "tab-ledger") readLedger();
}

for (const [place, tab] of tabs.entries()) {
  tab.addEventListener("click", () => select(tab));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) select(tabs[(place + step + tabs.length) % tabs.length]);
    if (event.key === "Home") select(tabs[0]);
    if (event.key === "End") select(tabs.at(-1));
  });
}

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

const start = guarded(async () => {
  await readChoices();
  $("token-form").hidden = true;
  await startTry();
});

$("token-form").addEventListener("submit", guarded(async () => {
  const given = $("token").value.trim();
  if (/[^!-~]/.test(given)) throw new Error("This is not a token: it contains a character that tokens never have. Copy it again."); // no header can hold it
  useToken(given);
  await start();
}));
start();
