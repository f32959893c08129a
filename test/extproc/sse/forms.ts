// Events of many forms, each with a member that has a piece of a text.

/** When an event comes. at: its number. */
export interface Moment {
  readonly at: number
  readonly index: number
  readonly type: string
  readonly id: string
}

/** An event with a piece of the text. */
export type Event = (piece: string, moment: Moment) => unknown

/** A chunk of a chat. */
export const choice = (more: object): object => ({ object: 'chat.completion.chunk', ...more })

const said = (text: string): object => ({ type: 'text', text })

const empty = (count: number): readonly object[] => Array.from({ length: count }, () => said(''))

/** The forms of events, each with a member that has the piece. */
export const FORMS: Readonly<Record<string, Event>> = {
  'content of a choice': (piece, { index }) =>
    choice({ choices: [{ index, delta: { content: piece } }] }),
  'message of a choice': (piece, { index }) =>
    choice({ choices: [{ index, message: { role: 'assistant', content: piece } }] }),
  'delta and message of a choice': (piece, { index }) =>
    choice({ choices: [{ index, delta: { content: piece }, message: { content: piece } }] }),
  'message of a choice, now and then beside a delta': (piece, { index, at }) =>
    choice({
      choices: [
        {
          index,
          ...(at % 2 === 0 && { delta: { content: piece } }),
          message: { content: piece },
        },
      ],
    }),
  'messages of a choice': (piece, { index }) =>
    choice({ choices: [{ index, messages: [{ delta: { content: piece } }] }] }),
  'a text beside the delta': (piece, { index }) =>
    choice({ choices: [{ index, delta: {}, x_more: { said: piece } }] }),
  'a text of the delta': (piece, { index }) =>
    choice({ choices: [{ index, delta: { x_said: piece } }] }),
  'reasoning of a choice': (piece, { index }) =>
    choice({ choices: [{ index, delta: { reasoning_content: piece } }] }),
  'a text beside the choices': (piece) => choice({ choices: [], x_said: piece }),
  'arguments of a call': (piece, { index }) =>
    choice({
      choices: [{ index: 0, delta: { tool_calls: [{ index, function: { arguments: piece } }] } }],
    }),
  'arguments of a call under any id': (piece, { index, id }) =>
    choice({
      choices: [
        { index: 0, delta: { tool_calls: [{ index, id, function: { arguments: piece } }] } },
      ],
    }),
  'arguments of a call of any name': (piece, { id }) =>
    choice({ choices: [{ index: 0, delta: { function_call: { name: id, arguments: piece } } }] }),
  'text of a completion': (piece, { index }) => ({
    object: 'text_completion',
    choices: [{ index, text: piece }],
  }),
  'delta of a block': (piece, { index }) => ({
    type: 'content_block_delta',
    index,
    delta: { type: 'text_delta', text: piece },
  }),
  'another delta of a block': (piece, { index }) => ({
    type: 'content_block_delta',
    index,
    delta: { type: 'of_tomorrow', x_said: piece },
  }),
  'citation of a block': (piece, { index }) => ({
    type: 'content_block_delta',
    index,
    delta: { type: 'citations_delta', citation: { cited_text: piece } },
  }),
  'a text beside a message': (piece) => ({
    type: 'message_delta',
    delta: { stop_reason: null, x_said: piece },
  }),
  'delta of a response': (piece, { index, id }) => ({
    type: 'response.output_text.delta',
    item_id: id,
    output_index: index,
    content_index: 0,
    delta: piece,
  }),
  'done of a response': (piece, { index, id }) => ({
    type: 'response.output_text.done',
    item_id: id,
    output_index: index,
    content_index: 0,
    text: piece,
  }),
  'another delta of a response': (piece, { index, id }) => ({
    type: 'response.of_tomorrow.delta',
    item_id: id,
    output_index: index,
    delta: piece,
  }),
  'another event of a response': (piece, { index, id }) => ({
    type: 'response.of_tomorrow.done',
    item_id: id,
    output_index: index,
    x_said: piece,
  }),
  'item of a response': (piece, { index, id }) => ({
    type: 'response.output_item.done',
    output_index: index,
    item: { id, type: 'of_tomorrow', x_said: piece },
  }),
  'part of a candidate': (piece, { index }) => ({
    candidates: [{ index, content: { role: 'model', parts: [{ text: piece }] } }],
  }),
  'another part of a candidate': (piece, { index }) => ({
    candidates: [{ index, content: { parts: [{ x_said: piece }] } }],
  }),
  'a text beside a candidate': (piece, { index }) => ({ candidates: [{ index, x_said: piece }] }),
  'content of a message of Cohere': (piece, { index }) => ({
    type: 'content-delta',
    index,
    delta: { message: { content: { text: piece } } },
  }),
  'plan of a message of Cohere': (piece, { index }) => ({
    type: 'tool-plan-delta',
    index,
    delta: { message: { tool_plan: piece } },
  }),
  'citation of a message of Cohere': (piece, { index }) => ({
    type: 'citation-start',
    index,
    delta: { message: { citations: { start: 1, end: 2, text: piece } } },
  }),
  'text of the AI SDK': (piece, { id }) => ({ type: 'text-delta', id, delta: piece }),
  'reasoning of the AI SDK': (piece, { id }) => ({ type: 'reasoning-delta', id, delta: piece }),
  'data of the AI SDK': (piece, { id }) => ({ type: 'data-x', id, data: { said: piece } }),
  'input of a tool of the AI SDK': (piece, { id }) => ({
    type: 'tool-input-delta',
    toolCallId: id,
    inputTextDelta: piece,
  }),
  'message of AG-UI': (piece, { id }) => ({
    type: 'TEXT_MESSAGE_CONTENT',
    messageId: id,
    delta: piece,
  }),
  'chunk of a message of AG-UI': (piece, { id }) => ({
    type: 'TEXT_MESSAGE_CHUNK',
    messageId: id,
    delta: piece,
  }),
  'result of a tool of AG-UI': (piece, { id }) => ({
    type: 'TOOL_CALL_RESULT',
    messageId: id,
    toolCallId: id,
    content: piece,
  }),
  'arguments of a call of a conversation': (piece, { index, id }) => ({
    type: 'function.call.delta',
    tool_call_id: id,
    output_index: index,
    arguments: piece,
  }),
  'chunk of a call of AG-UI': (piece, { id }) => ({
    type: 'TOOL_CALL_CHUNK',
    toolCallId: id,
    delta: piece,
  }),
  'message of a conversation': (piece, { index, id }) => ({
    type: 'message.output.delta',
    id,
    output_index: index,
    content: piece,
  }),
  'content of an interaction': (piece, { index }) => ({
    event_type: 'content.delta',
    index,
    delta: { type: 'text', text: piece },
  }),
  'message of a thread': (piece, { index, id }) => ({
    id,
    object: 'thread.message.delta',
    delta: { content: [{ index, type: 'text', text: { value: piece } }] },
  }),
  'message of Ollama': (piece) => ({ message: { role: 'assistant', content: piece }, done: false }),
  'thoughts of Ollama': (piece) => ({ response: '', thinking: piece, done: false }),
  'an event of any type': (piece, { type, index, id }) => ({
    type,
    index,
    id,
    delta: { message: { content: { text: piece } } },
  }),
  'an event of no type': (piece) => ({ message: { content: piece }, done: false }),
  'an error': (piece) => ({ type: 'error', error: { type: 'api_error', message: piece } }),
}

/** Forms of texts within one choice, by other indexes. */
export const OF_ONE_CHOICE: Readonly<Record<string, Event>> = {
  'parts of the content of a choice': (piece, { index }) =>
    choice({ choices: [{ index: 0, delta: { content: [...empty(index), said(piece)] } }] }),
  'texts of a list in the delta': (piece, { index }) =>
    choice({ choices: [{ index: 0, delta: { x_list: [...empty(index), { x_said: piece }] } }] }),
  'parts of a candidate by their index': (piece, { index }) => ({
    candidates: [
      { index: 0, content: { role: 'model', parts: [...empty(index), { text: piece }] } },
    ],
  }),
}

/** Forms whose texts have each been begun under an index or id: the events that begin them, and one with a piece. */
export const BEGUN: Readonly<Record<string, readonly [Event, Event]>> = {
  'blocks of a message': [
    (_piece, { index }) => ({
      type: 'content_block_start',
      index,
      content_block: { type: 'text', text: '' },
    }),
    pieceOf('delta of a block'),
  ],
  'calls of a message': [
    (_piece, { index, id }) => ({
      type: 'content_block_start',
      index,
      content_block: { type: 'tool_use', id, name: 'find', input: {} },
    }),
    (piece, { index }) => ({
      type: 'content_block_delta',
      index,
      delta: { type: 'input_json_delta', partial_json: piece },
    }),
  ],
  'items of a response': [
    (_piece, { index, id }) => ({
      type: 'response.output_item.added',
      output_index: index,
      item: { id, type: 'message', role: 'assistant', status: 'in_progress', content: [] },
    }),
    pieceOf('delta of a response'),
  ],
  'messages of the AI SDK': [
    (_piece, { id }) => ({ type: 'text-start', id }),
    pieceOf('text of the AI SDK'),
  ],
  'messages of AG-UI': [
    (_piece, { id }) => ({ type: 'TEXT_MESSAGE_START', messageId: id, role: 'assistant' }),
    pieceOf('message of AG-UI'),
  ],
  'contents of an interaction': [
    (_piece, { index }) => ({
      event_type: 'content.start',
      index,
      content: { type: 'text', text: '' },
    }),
    pieceOf('content of an interaction'),
  ],
  'contents of Cohere': [
    (_piece, { index }) => ({
      type: 'content-start',
      index,
      delta: { message: { content: { type: 'text', text: '' } } },
    }),
    pieceOf('content of a message of Cohere'),
  ],
}

function pieceOf(form: string): Event {
  return (piece, moment) => FORMS[form]?.(piece, moment)
}
