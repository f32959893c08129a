// Renders the Helm chart and creates its objects in an API server.

import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { type AnyObject, pathOf } from '../../../testing/api-call.js'
import type { ApiServer } from '../../../testing/api-server.js'

export const ROOT = resolve(import.meta.dirname, '../../..')
export const CHART = resolve(ROOT, 'deploy/helm/gatehouse')

export interface HelmAnswer {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export function helm(...args: readonly string[]): HelmAnswer {
  const program = process.env['GATEHOUSE_TEST_HELM'] ?? 'helm'
  return spawnSync(program, args, { encoding: 'utf8' })
}

const flagsOf = (values: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.entries(values).flatMap(([name, value]) => [
    '--set-json',
    `${name}=${JSON.stringify(value)}`,
  ])

export const lint = (values: Readonly<Record<string, unknown>>): HelmAnswer =>
  helm('lint', CHART, '--strict', ...flagsOf(values))

/** --kube-version is needed because a helm built with plain `go build` assumes Kubernetes 1.20. */
const FLAGS = ['--namespace', 'default', '--kube-version', '1.35.0']

export const template = (
  values: Readonly<Record<string, unknown>>,
  chart: string = CHART,
): HelmAnswer => helm('template', 'gatehouse', chart, ...FLAGS, ...flagsOf(values))

/** @param chart the folder of another version's chart. */
export function render(
  values: Readonly<Record<string, unknown>>,
  chart?: string,
): readonly AnyObject[] {
  const { status, stdout, stderr } = template(values, chart)
  if (status !== 0) throw new Error(stderr)
  return objectsOf(stdout)
}

export const objectsOf = (yaml: string): readonly AnyObject[] =>
  parseAllDocuments(yaml)
    .map((document) => document.toJS() as AnyObject | null)
    .filter((object) => object !== null)

/**
 * Creates an object. Unknown fields are errors.
 * @param dry whether only to check that it could be created.
 */
export async function create(api: ApiServer, object: AnyObject, dry = false): Promise<void> {
  const path = pathOf(object)
  const query = `fieldValidation=Strict${dry ? '&dryRun=All' : ''}`
  await api.call('POST', `${path.slice(0, path.lastIndexOf('/'))}?${query}`, object)
}
