// Reads the description of a request that `gatehouse explain` sends to a running Gatehouse.

import { err, ok, type Result } from '../../kit/result.js'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../model/json.js'
import type { RequestDescription } from './explain-request.js'

/** Returns the description as JSON text. */
export const descriptionText = ({ body, ...rest }: RequestDescription): string =>
  JSON.stringify({ ...rest, ...(body && { body: Buffer.from(body).toString('base64') }) })

/** error: which member is wrong, and what was expected; quotes nothing of the text. */
export function readDescription(text: Uint8Array): Result<RequestDescription, string> {
  const json = parseJson(text)
  if (!isJsonObject(json)) return err('the description is not a JSON object')
  const wrong = Object.entries(MEMBERS).find(([name, { isValid }]) => !isValid(own(json, name)))
  if (wrong !== undefined) return err(`${wrong[0]}: expected ${wrong[1].expected}`)
  const { request, headers = [], token, body, listenerPort, gateway, sourceAddress } = json
  return ok({
    request: request as string,
    headers: headers as readonly string[],
    token: token as string | undefined,
    body: body === undefined ? undefined : Buffer.from(body as string, 'base64'),
    listenerPort: listenerPort as number | undefined,
    gateway: gateway as string | undefined,
    sourceAddress: sourceAddress as string | undefined,
  })
}

const own = (json: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(json, name) ? json[name] : undefined

interface Member {
  readonly isValid: (value: Json | undefined) => boolean
  readonly expected: string
}

const isText = (value: Json | undefined): value is string => typeof value === 'string'
const TEXT: Member = {
  isValid: (value) => value === undefined || isText(value),
  expected: 'a text',
}

const MEMBERS: Readonly<Record<string, Member>> = {
  request: { isValid: isText, expected: 'METHOD URL' },
  headers: {
    isValid: (value) => value === undefined || (Array.isArray(value) && value.every(isText)),
    expected: 'a list of texts',
  },
  token: TEXT,
  body: { ...TEXT, expected: 'a text in base64' },
  listenerPort: {
    isValid: (value) => value === undefined || Number.isSafeInteger(value),
    expected: 'a whole number',
  },
  gateway: TEXT,
  sourceAddress: TEXT,
}
