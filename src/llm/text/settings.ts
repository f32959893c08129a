// The table of all settings: members of LLM bodies and events whose strings are not text, each with the shape that such
// a string must have. A string of another name or shape is text, which webhooks see (decision 19).

import { type Pace, PIECE, piecesOf, type Soon, unitsOf, type Work } from '../../turns.js'

/** The shape that a string must have to be a setting. */
interface Shape {
  readonly longest: number
  /** Takes time in proportion to the length. If longest is infinite, each piece of a string is tested separately. */
  readonly fits: (value: string) => boolean
}

/** foreign: matches every character that does not fit, which includes all beyond ASCII. */
function of(longest: number, foreign: RegExp): Shape {
  const isForeign = Array.from({ length: 128 }, (_, code) =>
    foreign.test(String.fromCharCode(code)),
  )
  return {
    longest,
    // A loop, because a pattern takes longer to start, and most settings are short.
    fits: (value) => {
      for (let at = 0; at < value.length; at++)
        if (isForeign[value.charCodeAt(at)] !== false) return false
      return true
    },
  }
}

const id = of(256, /[^\w.:/@+=|~#$[\]-]/)
const base64 = of(Infinity, /[^A-Za-z0-9+/=_-]/)
const MIME = /^(?:[\w.+*-]+\/[\w.+*-]+(?:; ?[\w-]+=[\w.-]+)*)?$/
const visible = of(4096, /[^!-~]/)

const isA = ({ longest, fits }: Shape, value: string): boolean =>
  value.length <= longest && fits(value)

function isSuch(shape: Shape, value: string, pace: Pace): Soon<boolean> {
  if (value.length <= PIECE || value.length > shape.longest) return isA(shape, value)
  return isSuchInPieces(shape, value, pace)
}

function* isSuchInPieces(shape: Shape, value: string, pace: Pace): Work<boolean> {
  for (const piece of piecesOf(value)) {
    if (pace.isDue(unitsOf(piece.length))) yield
    if (!shape.fits(piece)) return false
  }
  return true
}

const SHAPES = {
  /** A value from a closed list of the API. */
  word: of(64, /[^\w.+-]/),
  /** Identifiers, names of models, tools and files, dates, numbers. */
  id,
  mime: { longest: 128, fits: (value) => MIME.test(value) },
  url: {
    longest: visible.longest,
    fits: (value) =>
      isA(id, value) || (/^(?:https?|gs|s3|file):\/\//.test(value) && visible.fits(value)),
  },
  /** Encrypted thinking, signatures, vectors, padding. */
  blob: of(Infinity, /[^A-Za-z0-9+/=_.:|-]/),
  credential: {
    longest: visible.longest + 'Bearer '.length,
    fits: (value) => isA(visible, value.replace(/^(?:Bearer|Basic) /, '')),
  },
} as const satisfies Readonly<Record<string, Shape>>

/** How a request asks for summaries of the reasoning. */
const summary: Shape = {
  longest: 8,
  fits: (value) => /^(?:auto|concise|detailed|none)$/.test(value),
}

/** Name of a shape that the string of a setting must have. */
export type ShapeName = keyof typeof SHAPES

/** Whether a string has the shape of a setting. Takes time in proportion to the length. */
export const isShaped = (shape: ShapeName, value: string): boolean => isA(SHAPES[shape], value)

/** Names in lower case, without underscores. */
const NAMES: Readonly<Partial<Record<ShapeName, string>>> = {
  word: `type @type object role status state phase mode outcome stopreason finishreason nativefinishreason blockreason
    servicetier reasoningeffort effort verbosity detail format encodingformat modality modalities responsemodalities
    inputmodalities outputmodalities voice voicename language languagecode country toolchoice truncation
    promptcacheretention ttl quality size aspectratio imagesize resolution background moderation inputfidelity
    outputformat responseformat category threshold method probability severity thinkinglevel mediaresolution ranker
    searchcontextsize sort datacollection quantizations unit speed inferencegeo retention errorcode errortype scheduling tooltype engine
    traffictype environment urlretrievalstatus execution display locale`,
  id: `id ids model models modelversion basemodel user safetyidentifier promptcachekey systemfingerprint fingerprint
    name toolname servername serverlabel mcpservername filename version createdat created updatedat expiresat createtime
    cachedcontent container conversation include anthropicversion anthropicbeta betas ownedby root parent provider order
    only ignore allowedtools allowedfunctionnames startoffset endoffset timestamp digest etag required $ref $schema $id
    $defs propertyordering propertyname timezone jsonpath`,
  mime: 'mimetype mediatype responsemimetype contenttype',
  url: 'url uri urls uris',
  // p: the padding of Mistral's streams.
  blob: 'signature embedding obfuscation p',
  credential: 'authorizationtoken authorization apikey accesstoken',
}

const SHAPE_OF: ReadonlyMap<string, Shape> = new Map(
  Object.entries(NAMES).flatMap(([shape, names]) =>
    names.split(/\s+/).map((name) => [name, SHAPES[shape as ShapeName]] as const),
  ),
)

/** Objects whose members a client names; each value may be an identifier. */
const LABELLED: ReadonlySet<string> = new Set(['metadata', 'labels'])

/** Members of an error that identify what went wrong. */
const OF_ERROR: ReadonlySet<string> = new Set(['code', 'domain', 'field', 'loc', 'param', 'reason'])

/** Whether a member of an error is a setting. */
export const isErrorSetting = (name: string, value: string, pace: Pace): Soon<boolean> =>
  (OF_ERROR.has(name) && isA(id, value)) || isSetting(name, value, '', pace)

/** owner: the name of the member that contains the object. */
export function isSetting(name: string, value: string, owner: string, pace: Pace): Soon<boolean> {
  const shape = shapeOf(name, owner)
  return shape !== undefined && isSuch(shape, value, pace)
}

function shapeOf(name: string, owner: string): Shape | undefined {
  const known = SHAPE_OF.get(name)
  if (known !== undefined) return known
  const plain = name.replaceAll('_', '').toLowerCase()
  if (plain === 'summary' && owner === 'reasoning') return summary
  return SHAPE_OF.get(plain) ?? shapeByEnding(name, plain) ?? (LABELLED.has(owner) ? id : undefined)
}

function shapeByEnding(name: string, plain: string): Shape | undefined {
  if (/(?:_ids?|[a-z]Ids?)$/.test(name)) return id
  if (/ur[il]$/.test(plain)) return SHAPES.url
  return plain.endsWith('signature') || plain.startsWith('encrypted') ? SHAPES.blob : undefined
}

/** Whether a string can be media or a file: base64, bare or in a data URL, or an address. */
export function* isFile(value: string, pace: Pace): Work<boolean> {
  const data = /^data:[\w.+/-]{0,128}(?:;[\w-]{1,32}=[\w.-]{1,64}){0,4};base64,/.exec(value)?.[0]
  const encoded = isSuch(base64, data === undefined ? value : value.slice(data.length), pace)
  const isEncoded = typeof encoded === 'boolean' ? encoded : yield* encoded
  return isEncoded || (data === undefined && isA(SHAPES.url, value))
}

/** Whether a member's own name is too plain to carry a text. */
export const isPlainName = (name: string): boolean => /^[\w.$@:/+~#*-]{0,64}$/.test(name)
