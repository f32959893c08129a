// The CRDs that a mesh's control plane reads, in addition to those of the tests' API server.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { AnyObject } from '../../../testing/api-call.js'
import { definitions } from '../../../testing/api-server.js'

/**
 * Returns the other CRDs of the Gateway API, and those of a folder.
 * @param variable the environment variable that holds the folder's path.
 */
export function furtherDefinitions(variable: string): readonly object[] {
  const known = new Set(definitions().map(nameOf))
  return ['GATEHOUSE_TEST_GATEWAY_API', variable]
    .map((name) => process.env[name] ?? '')
    .flatMap((folder) => readdirSync(folder).map((file) => join(folder, file)))
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => readFileSync(file, 'utf8'))
    .filter((text) => text.includes('kind: CustomResourceDefinition'))
    .flatMap((text) => parseAllDocuments(withoutTemplates(text)))
    .map((document) => document.toJS() as AnyObject | null)
    .filter((object) => object !== null)
    .filter((object) => object.kind === 'CustomResourceDefinition' && !known.has(nameOf(object)))
}

/** Returns those of the Gateway API that the tests' API server has as well. */
export const gatewayApiDefinitions = (): readonly object[] =>
  definitions().filter((object) => nameOf(object).endsWith('.networking.k8s.io'))

/** Removes lines of Helm, which switch a whole file on. */
const withoutTemplates = (text: string): string => text.replaceAll(/^\{\{.*\}\}$/gm, '')

const nameOf = (object: object): string => (object as AnyObject).metadata.name ?? ''
