// Asking the server, and small helpers. No text leaves this page in an address or a storage.

export const $ = (id) => document.getElementById(id);
export const percent = (share) => `${Math.round(100 * share)}%`;
export const number = new Intl.NumberFormat("en");

export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

let token = "";
export const useToken = (given) => { token = given; };
export const hasToken = () => token !== "";
export const headers = (more = {}) => (token ? { ...more, Authorization: `Bearer ${token}` } : more);

export function refused(status, body) {
  if (status === 401) $("token-form").hidden = false;
  const error = new Error(body?.error?.message ?? `The server answered ${status}.`); // a proxy's page, for one
  error.status = status;
  return error;
}

export async function ask(path, body, method) {
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
  if (answer.ok) return answer;
  throw refused(answer.status, await answer.json().catch(() => null));
}

export const json = async (path, body, method) => (await ask(path, body, method)).json();

// What a refusal advises whoever writes requests, and what there is on this page instead.
const HERE = [
  ['or, if it is the file to release, name its encoding, for example `encoding`: "cp1252", latin-1 or utf-16', "or choose another “Text encoding”"],
  ['or, if it is the file to release, add `encoding`: "utf-16"', "or choose UTF-16 as “Text encoding”"],
];

export function show(error) {
  $("error").textContent = HERE.reduce((told, [there, here]) => told.replace(there, here), error.message);
  $("error").hidden = false;
}

export const settled = () => { $("error").hidden = true; };

// An action whose failure is shown, for whatever event.
export function guarded(action) {
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

export function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
