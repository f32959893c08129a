// JSON as nodes with their places in the text, and what can be wrong with a text that is not JSON.

/** A place in a text; end is exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Returns the place alone. */
export const span = ({ start, end }: Span): Span => ({ start, end })

/** A value and its place. */
export type JsonNode = Span &
  (
    | {
        readonly type: 'object'
        readonly members: ReadonlyMap<string, JsonNode>
        /** Names that are not in lower case: by their folded form, all spellings that occur. */
        readonly unusual?: ReadonlyMap<string, readonly string[]> | undefined
      }
    | {
        readonly type: 'array'
        readonly items: readonly JsonNode[]
        /** Whether this is a long list that holds only scalars; items are just the first few of them. */
        readonly isCut?: true
      }
    | { readonly type: 'string'; readonly value: string }
    | { readonly type: 'null' | 'boolean' | 'number' }
  )

/** Why a text cannot be read. */
export type JsonProblem =
  | 'not UTF-8'
  | 'not JSON'
  | 'a member is there twice'
  | 'the name of a member is too long'
  | 'nested too deeply'
  | 'it holds too many values'
