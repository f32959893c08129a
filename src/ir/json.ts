// Plain JSON, as a type: what goldens, documents of other parties and Envoy resources are made of.

export type Json = null | boolean | number | string | readonly Json[] | JsonObject

export interface JsonObject {
  readonly [key: string]: Json
}

export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** undefined: not UTF-8 or not JSON. (JSON.parse's own error quotes what it read.) */
export const parseJson = (body: Uint8Array): Json | undefined => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as Json
  } catch {
    return undefined
  }
}
