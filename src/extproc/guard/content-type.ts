// Checks that a Content-Type is JSON in UTF-8 and nothing else. Linear and bounded, because clients control it.

/** Longer than any JSON media type with its charset. */
const MAX_LENGTH = 256

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json$/i
const UTF8 = /^(?:utf-?8|"utf-?8")$/i

/** Whether it is application/json or a type with the suffix +json, with no parameter except charset=utf-8. */
export function isJsonType(contentType: string): boolean {
  if (contentType === 'application/json') return true
  if (contentType.length > MAX_LENGTH) return false
  const [type = '', parameter = '', ...more] = contentType.split(';').map(withoutBlanks)
  // A trailing ";" adds an empty parameter.
  const isWhole = more.length === 0 || (more.length === 1 && more[0] === '' && parameter !== '')
  return isWhole && JSON_TYPE.test(type) && (parameter === '' || isUtf8(parameter))
}

function isUtf8(parameter: string): boolean {
  const [name = '', value = '', ...more] = parameter.split('=').map(withoutBlanks)
  return name.toLowerCase() === 'charset' && UTF8.test(value) && more.length === 0
}

/** Trims optional whitespace only (RFC 9110 section 5.6.3); trim() would also remove Latin-1 characters. */
function withoutBlanks(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && isBlank(text, start)) start += 1
  while (end > start && isBlank(text, end - 1)) end -= 1
  return text.slice(start, end)
}

const isBlank = (text: string, at: number): boolean => text[at] === ' ' || text[at] === '\t'
