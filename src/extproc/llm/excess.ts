// Why a body or an event cannot be read that exceeds a limit of the reader.

import type { JsonProblem } from '../../kit/json/json-node.js'

/** A client can bring a server to such a reply. */
const EXCESSES: readonly JsonProblem[] = [
  'nested too deeply',
  'it holds too many values',
  'the name of a member is too long',
]

/** Whether a sentence says, at its end, that a text exceeds a limit of the reader. */
export const isExcess = (problem: string): boolean =>
  EXCESSES.some((excess) => problem.endsWith(excess))
