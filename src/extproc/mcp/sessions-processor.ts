// Passes replies on whose session alone is of interest (mcp.bindSession without mcp.filterLists and without a guard): of an
// exchange Envoy sends the headers of the reply, and nothing else.

import { sendHeaders } from '../session/guard-messages.js'
import { type Processor, type ProcessorStream, UnexpectedMessage } from '../session/processor.js'

/** Creates the processor. */
export function createSessionsProcessor(stream: ProcessorStream): Processor {
  let isDone = false
  const unexpected = (): never => {
    throw new UnexpectedMessage('a part that was not asked for')
  }
  return {
    requestHeaders: unexpected,
    requestBody: unexpected,
    requestTrailers: unexpected,
    responseHeaders: () => {
      if (isDone) unexpected()
      isDone = true
      sendHeaders(stream, 'response')
    },
    responseBody: unexpected,
    responseTrailers: unexpected,
    isDone: () => isDone,
  }
}
