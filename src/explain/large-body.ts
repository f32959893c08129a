// Explains the answer to a body that is larger than rules may read.

import { type CheckModel, type CheckPlace, explainCheck } from './explain-check.js'
import type { ExplainRequest } from './explain-request.js'
import type { Explanation } from './explanation.js'

type Denial = Pick<Explanation, 'result' | 'answer' | 'changes'> & Partial<Explanation>

/** Returns the refusal of the headers, which are checked first where a token is required, or that of the body. */
export async function largeBody(
  model: CheckModel,
  { body: _, ...request }: ExplainRequest,
  place: CheckPlace,
  limit: number,
): Promise<Denial> {
  if (place.found.route.checksHead === true) {
    const { decision, ...check } = await explainCheck({ ...model, isHead: true }, request, place)
    if (decision.type === 'reply') return { result: 'denied', ...check }
  }
  return {
    result: 'denied',
    answer: {
      ...{ from: 'Gatehouse', status: 413, reason: 'body-too-large' },
      text: `the body is larger than ${String(limit)} bytes, which rules may read here`,
    },
    changes: ['Send a smaller body, or raise --mcp-body-bytes'],
  }
}
