// The CRDs that a mesh's control plane reads, in addition to those of the tests' API server.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { AnyObject } from '../../../testing/api-call.js'
import { type ApiServer, definitions } from '../../../testing/api-server.js'
import { eventually } from '../../../testing/eventually.js'

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

/** Applies CRDs, and waits until the server lists what they define: a control plane looks only once, at its start. */
export async function applyDefinitions(api: ApiServer, all: readonly object[]): Promise<void> {
  await api.apply(...all)
  for (const { spec } of all as readonly Definition[]) {
    const version = spec.versions.find(({ served }) => served)?.name ?? ''
    const path = `/apis/${spec.group}/${version}`
    await eventually(async () => {
      const { resources = [] } = (await api.call('GET', path)) as Listed
      if (!resources.some(({ name }) => name === spec.names.plural))
        throw new Error(`${path} has no ${spec.names.plural}`)
    })
  }
}

interface Definition {
  readonly spec: {
    readonly group: string
    readonly names: { readonly plural: string }
    readonly versions: readonly { readonly name: string; readonly served: boolean }[]
  }
}

/** An APIResourceList. */
interface Listed {
  readonly resources?: readonly { readonly name: string }[]
}

/** Removes lines of Helm, which switch a whole file on. */
const withoutTemplates = (text: string): string => text.replaceAll(/^\{\{.*\}\}$/gm, '')

const nameOf = (object: object): string => (object as AnyObject).metadata.name ?? ''
