// Requests to the service. Errors carry the service's own sentence.

const KEY = "vicinal-token";

export class ServiceError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function setToken(token) {
  sessionStorage.setItem(KEY, token);
}

export async function ask(path, body, headers = {}) {
  const token = sessionStorage.getItem(KEY);
  const options = { headers: { ...headers } };
  if (token) options.headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) {
    options.method = "POST";
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let reply;
  try {
    reply = await fetch(path, options);
  } catch {
    throw new ServiceError(0, "unreachable", "The service does not answer.");
  }
  const content = await reply.json().catch(() => ({}));
  if (!reply.ok) {
    const error = content.error ?? { code: "error", message: `The service answered ${reply.status}.` };
    throw new ServiceError(reply.status, error.code, error.message);
  }
  return content;
}

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("aria-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}
