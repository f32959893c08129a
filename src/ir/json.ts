// Plain JSON, as a type: what goldens, documents of other parties and Envoy resources are made of.

export type Json = null | boolean | number | string | readonly Json[] | JsonObject

export interface JsonObject {
  readonly [key: string]: Json
}
