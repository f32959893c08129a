// The definitions (CRDs) that the suite needs.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { AnyObject } from '../../../testing/api-call.js'

/** Every CRD of the Gateway API: the suite applies objects of more kinds than Gatehouse reads. */
export function gatewayApiDefinitions(): readonly AnyObject[] {
  const crds = process.env['GATEHOUSE_TEST_GATEWAY_API'] ?? ''
  return readdirSync(crds)
    .filter((file) => file.includes('networking'))
    .flatMap((file) => parseAllDocuments(readFileSync(join(crds, file), 'utf8')))
    .map((document) => document.toJS() as AnyObject)
    .filter(({ kind }) => kind === 'CustomResourceDefinition')
}
