// The last release of Gatehouse and this checkout, each with its chart: their CRDs, roles and replicas.

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { ApiServer } from '../../../testing/api-server.js'
import { MAIN } from '../../../testing/program.js'
import { type Replica, startReplica } from '../../../testing/replica.js'
import { CHART, render } from './chart.js'
import { containerNamed } from './pod.js'

/** A version of Gatehouse. */
export interface Version {
  /** The path of its program. */
  readonly main: string
  /** The folder of its chart. */
  readonly chart: string
}

const lastRelease = process.env['GATEHOUSE_TEST_LAST_RELEASE'] ?? ''

export const OLD: Version = {
  main: join(lastRelease, 'dist/main.js'),
  chart: join(lastRelease, 'deploy/helm/gatehouse'),
}
export const NEW: Version = { main: MAIN, chart: CHART }

/** Has the rights of the chart's service account, and no others. */
const USER = 'guest'

const VALUES = {
  references: [{ namespace: 'default', secrets: ['relay-key'] }],
  // Backends and the provider are on loopback, where they may be only if the flag says so.
  extraArgs: ['--allow-address=127.0.0.1'],
}

export const crdsOf = ({ chart }: Version): readonly object[] =>
  globSync(join(chart, 'crds/*.yaml')).map((path) => parse(readFileSync(path, 'utf8')) as object)

/** Returns the roles of a version, bound to a user in place of the service account. */
export const rolesOf = ({ chart }: Version): readonly object[] =>
  render(VALUES, chart)
    .filter(({ kind }) => /Role(?:Binding)?$/.test(kind))
    .map((object) => {
      const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: USER }]
      return object.kind.endsWith('Binding') ? { ...object, subjects } : object
    })

/** What startReplica sets, since replicas that share a host need addresses and files of their own. */
const OWN = /^(?:serve|--kubernetes|--grpc=.*|--admin=.*|--admin-token-file=.*)$/

/** Starts a replica as a pod of the version's chart runs it, with the rights of rolesOf. */
export async function startVersion(
  api: ApiServer,
  { main, chart }: Version,
  name: string,
): Promise<Replica> {
  const { args = [], env = [] } = containerNamed(render(VALUES, chart), 'gatehouse')
  const lease = env.find((variable) => variable.name === 'LEASE_NAME')?.value
  return startReplica({
    kubeconfig: await api.kubeconfig(USER),
    main,
    name,
    flags: args.filter((arg) => !OWN.test(arg)),
    ...(lease !== undefined && { lease }),
  })
}
