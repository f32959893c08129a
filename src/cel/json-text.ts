// json("…") of an expression: text → CEL values.

import type { Json } from '../ir/json.js'
import { toCelValue, type CelValue } from './values.js'

/** @throws SyntaxError, CelLimitError. */
export const parseJsonText = (text: string): CelValue => toCelValue(JSON.parse(text) as Json)
