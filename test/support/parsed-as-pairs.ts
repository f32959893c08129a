// JSON.parse as an oracle for names of members. It may read a name with an escape as one that it has met before, in an
// object of the same text too (nodejs/node#63785). Here it meets none: names are elements of lists, as values are.

/**
 * Returns JSON.parse(text) with each name as it is written.
 * @throws SyntaxError
 */
export function parsedAsPairs(text: string): unknown {
  const value: unknown = JSON.parse(text)
  return text.includes('\\') ? valueOf(JSON.parse(text.replace(TOKENS, asList))) : value
}

/** Strings, which stay as they are, and the tokens that are replaced. */
const TOKENS = /"(?:[^"\\]|\\.)*"|\{\s*\}|\[\s*\]|[{}[:]/g

const EMPTY = { '{': '["{"]', '[': '["["]' }

/** A list begins with "[" and then has its items; an object begins with "{" and then has names and values by turns. */
function asList(token: string): string {
  if (token.startsWith('"')) return token
  if (token === ':') return ','
  if (token === '}') return ']'
  const first = token.startsWith('{') ? '{' : '['
  return token.length === 1 ? `["${first}",` : EMPTY[first]
}

function valueOf(parsed: unknown): unknown {
  if (!Array.isArray(parsed)) return parsed
  const [type, ...rest] = parsed as unknown[]
  const values = rest.map(valueOf)
  if (type === '[') return values
  const isName = (_: unknown, index: number): boolean => index % 2 === 0
  const names = values.filter(isName) as string[]
  return Object.fromEntries(names.map((name, index) => [name, values[2 * index + 1]]))
}
