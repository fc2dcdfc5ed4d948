// The OpenAPI document, readable: every operation with its parameters, body and replies.

import { make } from "/static/api.js";

const place = document.getElementById("operations");

function resolve(schema, document, seen = []) {
  if (schema === null || typeof schema !== "object") return schema;
  if (schema.$ref) {
    if (seen.includes(schema.$ref)) return schema.$ref;
    const target = schema.$ref.split("/").slice(1).reduce((part, name) => part[name], document);
    return resolve(target, document, [...seen, schema.$ref]);
  }
  if (Array.isArray(schema)) return schema.map((each) => resolve(each, document, seen));
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, resolve(value, document, seen)]));
}

function operationView(path, method, operation, document) {
  const parts = [make("p", { textContent: operation.description ?? "" })];
  if (operation.security) parts.push(make("p", { className: "hint", textContent: "Needs Authorization: Bearer TOKEN" }));
  for (const parameter of operation.parameters ?? []) {
    const need = parameter.required ? "required" : "optional";
    parts.push(make("p", {}, make("code", { textContent: parameter.name }), ` (${parameter.in}, ${need}) ${parameter.description ?? ""}`));
  }
  for (const [type, { schema }] of Object.entries(operation.requestBody?.content ?? {}))
    parts.push(make("h3", { textContent: `Body: ${type}` }), schemaView(schema, document));
  for (const [status, reply] of Object.entries(operation.responses)) {
    const schema = reply.content?.["application/json"]?.schema;
    parts.push(make("p", {}, make("code", { textContent: status }), ` ${reply.description}`));
    if (schema && status.startsWith("2")) parts.push(schemaView(schema, document));
  }
  const title = [make("span", { className: "method", textContent: method.toUpperCase() }), make("code", { textContent: path })];
  return make("details", {}, make("summary", {}, ...title, ` ${operation.summary ?? ""}`), ...parts);
}

const schemaView = (schema, document) =>
  make("pre", { tabIndex: 0, textContent: JSON.stringify(resolve(schema, document), null, 1) });

const openapi = await (await fetch("/openapi.json")).json();
const groups = new Map();
for (const [path, operations] of Object.entries(openapi.paths))
  for (const [method, operation] of Object.entries(operations)) {
    const tag = operation.tags?.[0] ?? "other";
    if (!groups.has(tag)) groups.set(tag, [make("h2", { textContent: tag })]);
    groups.get(tag).push(operationView(path, method, operation, openapi));
  }
place.replaceChildren(...[...groups.values()].flat());
