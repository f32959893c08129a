// JSON as nodes with the places they came from, and what can be wrong with a text that is none.

export interface Span {
  readonly start: number
  readonly end: number
}

/** A place alone. */
export const span = ({ start, end }: Span): Span => ({ start, end })

export type JsonNode = Span &
  (
    | {
        readonly type: 'object'
        readonly members: ReadonlyMap<string, JsonNode>
        /** Names that are not in lower case: what they are when case does not count, and how they are written. */
        readonly unusual?: ReadonlyMap<string, readonly string[]> | undefined
      }
    | {
        readonly type: 'array'
        readonly items: readonly JsonNode[]
        /** A long list of scalars alone: items are the first few of them. */
        readonly isCut?: true
      }
    | { readonly type: 'string'; readonly value: string }
    | { readonly type: 'null' | 'boolean' | 'number' }
  )

export type JsonProblem =
  | 'not UTF-8'
  | 'not JSON'
  | 'a member is there twice'
  | 'nested too deeply'
  | 'it holds too many values'
