// Shapes that the strings of settings must have. A string of another shape is text, which webhooks see (decision 19b).

import { type Pace, PIECE, piecesOf, type Soon, unitsOf, type Work } from '../../../kit/turns.js'

/** The shape that a string must have to be a setting. */
interface Shape {
  readonly longest: number
  /** Takes time in proportion to the length. If longest is infinite, each piece of a string is tested separately. */
  readonly fits: (value: string) => boolean
  /** What is tested of each piece instead. */
  readonly fitsPiece?: (piece: string) => boolean
}

const [FOREIGN, OTHER, DIGIT, LETTER] = [0, 1, 2, 3]

/** What each character of ASCII is to a shape: foreign, a letter, a digit or another. */
const kindsOf = (allowed: RegExp): readonly number[] =>
  Array.from({ length: 128 }, (_, code) => {
    const character = String.fromCharCode(code)
    if (!allowed.test(character)) return FOREIGN
    return /[a-z]/i.test(character) ? LETTER : /\d/.test(character) ? DIGIT : OTHER
  })

/** Digits and dots alone are a version; longer ones, or other separators, could be a number of a card or a person. */
const LONGEST_NUMBER = 9

/** Identifiers: characters of a set with at least one letter, or a short number with dots. */
function idOf(longest: number, allowed: RegExp): Shape {
  const kinds = kindsOf(allowed)
  return {
    longest,
    // A loop, because a pattern takes longer to start, and most settings are short.
    fits: (value) => {
      let hasLetters = false
      for (let at = 0; at < value.length; at++) {
        const kind = kinds[value.charCodeAt(at)] ?? FOREIGN
        if (kind === FOREIGN) return false
        hasLetters ||= kind === LETTER
      }
      return hasLetters || (value.length <= LONGEST_NUMBER && /^[\d.]+$/.test(value))
    },
  }
}

const LOWER = kindsOf(/[a-z\d_.-]/)
const UPPER = kindsOf(/[A-Z\d_]/)
/** A date has eight, as in names of versions. */
const MOST_DIGITS_OF_WORD = 8

/** Values that an API enumerates: words in lower case, or all in upper case. */
const wordOf = (longest: number, mostDigits = MOST_DIGITS_OF_WORD): Shape => ({
  longest,
  fits: (value) => {
    const kinds = UPPER[value.charCodeAt(0)] === LETTER ? UPPER : LOWER
    if (kinds[value.charCodeAt(0)] !== LETTER) return false
    let digits = 0
    for (let at = 1; at < value.length; at++) {
      const kind = kinds[value.charCodeAt(at)] ?? FOREIGN
      if (kind === FOREIGN || (kind === DIGIT && ++digits > mostDigits)) return false
    }
    return true
  },
})

const matching = (longest: number, pattern: RegExp): Shape => ({
  longest,
  fits: (value) => pattern.test(value),
})

function only(allowed: RegExp): (value: string) => boolean {
  const kinds = kindsOf(allowed)
  return (value) => {
    for (let at = 0; at < value.length; at++)
      if ((kinds[value.charCodeAt(at)] ?? FOREIGN) === FOREIGN) return false
    return true
  }
}

const isVisible = only(/[!-~]/)
const isBase64 = only(/[A-Za-z\d+/=_-]/)
/** Shorter base64 without letters could be a number with separators. */
const SHORT = 64
const hasLetter = (value: string): boolean => value.length > SHORT || /[a-z]/i.test(value)

const isEncoded = (value: string): boolean => value === '' || (isBase64(value) && hasLetter(value))

/** Random characters, which may be digits alone while they are few. */
const isPadding = (value: string): boolean =>
  isBase64(value) && (hasLetter(value) || value.length <= LONGEST_NUMBER)

const isUrl = (value: string): boolean =>
  /^(?:https?|gs|s3|file):\/\//.test(value) && isVisible(value)

const LONGEST_URI = 256
const OTHER_URI = /^(?!data:)[a-z][\w+.-]{0,31}:[\w.:/|~=+{}?&%@#-]*$/i

const REFERENCE = idOf(128, /[\w.:/$#~%-]/)
const MODEL = idOf(128, /[\w.:/-]/)
/** An @ begins a name of Cloudflare's, or a version at the end; elsewhere it would make an address of mail. */
const AROUND_MODEL = /^@|@(?:\d{1,8}|default|latest)$/g
const ID = idOf(128, /[\w.:/|~=+-]/)
/** An id of the Java SDK of MCP: the start of a UUID, which may be digits alone, and a counter. */
const COUNTED = /^[\da-f]{1,8}-\d{1,9}$/i

const SHAPES = {
  /** Names of types, events and versions of an API. */
  type: wordOf(48),
  /** A value from a closed list of the API. */
  word: wordOf(48),
  /** Names of betas, which have a date and may have sizes and versions. */
  beta: wordOf(64, 12),
  /** How long a prompt is kept. */
  retention: matching(9, /^(?:in[_-]memory|\d{1,3}h)$/),
  /** How a request asks for summaries of the reasoning. */
  summary: matching(8, /^(?:auto|concise|detailed|none)$/),
  /** A type of JSON, in JSON Schema. */
  jsonType: matching(
    16,
    /^(?:object|array|string|number|integer|boolean|null|OBJECT|ARRAY|STRING|NUMBER|INTEGER|BOOLEAN|NULL|TYPE_UNSPECIFIED)$/,
  ),
  id: ID,
  /** Ids and cursors of MCP, which one side sends and the other sends back. */
  echoed: { longest: ID.longest, fits: (value) => ID.fits(value) || COUNTED.test(value) },
  /** A key by which a provider's own records find a client. */
  key: idOf(64, /[\w.:/|~=+-]/),
  /** Functions, tools, servers, speakers. */
  name: idOf(64, /[\w.:-]/),
  model: {
    longest: MODEL.longest,
    fits: (value) => MODEL.fits(value.includes('@') ? value.replace(AROUND_MODEL, '') : value),
  },
  /** The place of a value in a body. */
  path: idOf(128, /[\w.[\]$/-]/),
  /** A reference within JSON Schema; "#" is all of it. */
  ref: {
    longest: REFERENCE.longest,
    fits: (value) => value === '#' || REFERENCE.fits(value),
  },
  /** Languages and countries. */
  code: matching(12, /^[A-Za-z]{2,3}(?:[_-][A-Za-z]{2,4}){0,2}$/),
  /** Time zones: UTC, America/New_York. */
  zone: matching(
    40,
    /^(?:UTC|GMT|(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Etc|Europe|Indian|Pacific|US)(?:\/[A-Z][A-Za-z_-]{1,19}){1,2})$/,
  ),
  /** Sizes, ratios and how long something is kept. */
  size: matching(12, /^(?:auto|\d{1,4}(?:\.\d{1,2})?(?:[:x]\d{1,4}|[a-zA-Z]{1,2})?)$/),
  /** A number, which may be one of seconds. */
  number: matching(20, /^-?\d{1,9}(?:\.\d{1,9})?s?$/),
  date: matching(40, /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)?$/),
  mime: matching(
    128,
    /^(?:application|audio|font|image|message|model|multipart|text|video)\/[\w.*+-]{1,72}(?:; ?[\w-]{1,16}=[\w.-]{1,32}){0,2}$/,
  ),
  url: { longest: 4096, fits: isUrl },
  /** Addresses of MCP: of any scheme, but a text in a data URL is none. */
  uri: {
    longest: 4096,
    fits: (value) => isUrl(value) || (value.length <= LONGEST_URI && OTHER_URI.test(value)),
  },
  /** Encrypted words, vectors. */
  blob: { longest: Infinity, fits: isEncoded, fitsPiece: isBase64 },
  /** What a provider checks against the texts beside it. */
  signature: { longest: Infinity, fits: isEncoded, fitsPiece: isBase64 },
  /** Characters that hide the length of an event. */
  padding: { longest: 64, fits: isPadding },
  credential: {
    longest: 4096,
    fits: (value) => isVisible(value.replace(/^(?:Bearer|Basic) /, '')) && hasLetter(value),
  },
} as const satisfies Readonly<Record<string, Shape>>

/** Name of a shape that the string of a setting must have. */
export type ShapeName = keyof typeof SHAPES

const BY_NAME: ReadonlyMap<string | undefined, Shape> = new Map(Object.entries(SHAPES))

/** Whether what a member holds is a setting. */
export const isShape = (holds: string | undefined): holds is ShapeName => BY_NAME.has(holds)

/** Whether a string has the shape of a setting. holds: what its member holds, which may be no setting. */
export function isShaped(holds: string | undefined, value: string, pace: Pace): Soon<boolean> {
  const shape = BY_NAME.get(holds)
  if (shape === undefined || value.length > shape.longest) return false
  return value.length <= PIECE ? shape.fits(value) : isShapedInPieces(shape, value, pace)
}

function* isShapedInPieces(shape: Shape, value: string, pace: Pace): Work<boolean> {
  const { fitsPiece = shape.fits } = shape
  for (const piece of piecesOf(value)) {
    if (pace.isDue(unitsOf(piece.length))) yield
    if (!fitsPiece(piece)) return false
  }
  return true
}

/** Beginning of a data URL in base64: a media type, and parameters that say how to read it. A `name=` is a text. */
export const DATA_URL =
  /^data:(?:(?:application|audio|font|image|message|model|multipart|text|video)\/[\w.+-]{1,72})?(?:;(?:charset|codecs|rate|channels)=[\w.-]{1,32}){0,4};base64,/i

/** Whether a string can be media or a file: base64, bare or in a data URL, or an address. */
export function* isFile(value: string, pace: Pace): Work<boolean> {
  const data = DATA_URL.exec(value)?.[0]
  if (data === undefined && SHAPES.url.fits(value.slice(0, SHAPES.url.longest + 1)))
    return value.length <= SHAPES.url.longest
  const encoded = isShaped('blob', data === undefined ? value : value.slice(data.length), pace)
  return typeof encoded === 'boolean' ? encoded : yield* encoded
}

/** An @ begins names of APIs (@type); within others, it would make an address. */
const MEMBER = idOf(64, /[\w.$:/+~#*-]/)

/** Whether a member's own name is too plain to carry a text. */
export const isPlainName = (name: string): boolean =>
  name === '' ||
  (name.length <= MEMBER.longest && MEMBER.fits(name.startsWith('@') ? name.slice(1) : name))
