// Tells JSON from an event stream by how a body begins: servers declare one as the other, and clients read what is there.

/** What a body is: by its first characters, whatever its content type says. */
export type BeginningForm = 'json' | 'events' | 'neither'

/** Maximum number of blanks and line ends in front. */
const MOST_BLANKS = 4096
/** Length of the longest field name, and the character behind it. */
const ENOUGH = 'event:'.length

const BLANKS = /^(?:\xef\xbb\xbf)?[ \t\r\n]*/
const FIELD = /^(?::|(?:data|event|id|retry)(?:[:\r\n]|$))/

/** start: of the body. isWhole: nothing follows. undefined: more of it is needed. */
export function beginningForm(start: Uint8Array, isWhole: boolean): BeginningForm | undefined {
  const text = Buffer.from(start.subarray(0, MOST_BLANKS + ENOUGH)).toString('latin1')
  const before = BLANKS.exec(text)?.[0] ?? ''
  const behind = text.slice(before.length)
  if (/^[{[]/.test(behind)) return 'json'
  const isShort = before.length < MOST_BLANKS && behind.length < ENOUGH && !behind.startsWith(':')
  if (isShort && !isWhole) return undefined
  return FIELD.test(behind) && !/[ \t]$/.test(before) ? 'events' : 'neither'
}
