// Makes the body of a guarded request readable as llmRequest in expressions. Members are converted only when read.

import type { MemberValue } from '../../cel/attributes.js'
import { jsonNodeValue } from '../../cel/json-node-value.js'
import type { JsonText } from '../../json/json-text.js'

/** Returns llmRequest for expressions. */
export const llmRequestValue = ({ text, root }: JsonText): MemberValue => ({
  celValue: () => jsonNodeValue(root, text),
  member(name) {
    const node = root.type === 'object' ? root.members.get(name) : undefined
    return node === undefined ? undefined : jsonNodeValue(node, text)
  },
})
