// Decodes single documents, as those of a file are.

import type { DecodedResource } from '../../src/control/schema/decode/decode.js'
import { kindsOf } from '../../src/control/schema/kinds/kinds.js'
import { decodeFile } from '../../src/control/sources/files/file-record.js'
import { API_GROUP } from './resources.js'

const KINDS = kindsOf(API_GROUP)

/** @throws if the document has a problem. */
export function decoded(document: object): readonly DecodedResource[] {
  const { resources, problems } = decodeFile(Buffer.from(JSON.stringify(document)), 'f', KINDS)
  if (problems[0] !== undefined) throw new Error(problems[0].message)
  return resources
}
