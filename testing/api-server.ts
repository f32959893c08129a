// Runs a real API server with its own etcd, and offers the operations of a cluster's user.

import { type ChildProcess, execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { type ApiClient, apiClient } from './api-client.js'
import { type Etcd, startEtcd } from './etcd.js'
import { eventually } from './eventually.js'
import { freePort } from './ports.js'
import { endTied, spawnTied, unrefTied } from './tied-process.js'

/** Address in the network namespace that the tests run in. */
export const ADDRESS = process.env['GATEHOUSE_TEST_ADDRESS'] ?? ''

const OWN = resolve(import.meta.dirname, '../config/crd')
const GATEWAY_API = process.env['GATEHOUSE_TEST_GATEWAY_API'] ?? ''
const READ = new Set([
  'gatewayclasses',
  'gateways',
  'listenersets',
  'httproutes',
  'backendtlspolicies',
  'referencegrants',
])
export const ADMIN = 'admin'
/** Users with separate rights, for tests that run concurrently. */
const GUESTS = ['guest', ...Array.from({ length: 64 }, (_, index) => `guest-${String(index + 1)}`)]

export interface ApiServer extends ApiClient {
  /**
   * Writes a kubeconfig file for the administrator, or for another user, who has no rights until a role grants them.
   * @param by a port that forwards to the API server.
   */
  kubeconfig(user?: string, by?: number): Promise<string>
  readonly port: number
  /** Compacts the history and restarts; a watch that resumes from an earlier version gets 410 Gone. */
  compact(): Promise<void>
  /** Kills the API server; start() restarts it with the same data. */
  stop(): Promise<void>
  start(): Promise<void>
  readonly etcd: Etcd
  /** Has all of its files. */
  readonly folder: string
  /** Lets this process end without close(), and the programs with it. Returns their ids. */
  unref(): readonly number[]
  close(): Promise<void>
}

export interface ApiServerOptions {
  /** Whether to start without any CRD. */
  readonly bare?: boolean
}

export async function startApiServer({ bare }: ApiServerOptions = {}): Promise<ApiServer> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-kubernetes-'))
  const port = await freePort()
  await writeFile(
    join(folder, 'tokens.csv'),
    `${ADMIN},${ADMIN},1,"system:masters"\n${GUESTS.map((name) => `${name},${name},${name}\n`).join('')}`,
  )
  execFileSync('openssl', ['genrsa', '-out', join(folder, 'account.key'), '2048'], {
    stdio: 'ignore',
  })
  const etcd = await startEtcd(folder)
  const server = `https://${ADDRESS}:${String(port)}`
  const kubeconfig = async (user = ADMIN, by = port): Promise<string> => {
    const path = join(folder, `kubeconfig-${user}`)
    await writeFile(path, kubeconfigOf(`https://${ADDRESS}:${String(by)}`, user))
    return path
  }
  let child: ChildProcess | undefined
  const start = async (): Promise<void> => {
    child = spawnTied('GATEHOUSE_TEST_APISERVER', serverFlags(folder, port, etcd.url))
    await eventually(() => call('GET', '/readyz'), 60_000)
  }
  const client = apiClient(server, ADMIN)
  const call: ApiServer['call'] = (...args) => client.call(...args)
  const api: ApiServer = {
    kubeconfig,
    port,
    compact: async () => {
      await endTied(child)
      await etcd.compact()
      await start()
    },
    ...client,
    stop: () => endTied(child),
    start,
    etcd,
    folder,
    unref: () => [child, etcd.child].flatMap((each) => (each === undefined ? [] : unrefTied(each))),
    close: async () => {
      await endTied(child)
      await endTied(etcd.child)
      await rm(folder, { recursive: true, force: true })
    },
  }
  try {
    await eventually(() => fetch(`${etcd.url}/health`), 30_000)
    await start()
    await eventually(() => api.get('v1', 'Namespace', 'default'), 30_000)
    if (bare !== true) await api.apply(...definitions())
    // CRDs are not necessarily served in the order in which they were created.
    if (bare !== true)
      for (const path of definitions().map(listPath))
        await eventually(() => call('GET', path), 30_000)
  } catch (error) {
    // The caller has no handle to close.
    await api.close()
    throw error
  }
  return api
}

/** Returns Gatehouse's CRDs and those of the Gateway API that it reads. */
export const definitions = (): readonly object[] => [
  ...readdirSync(OWN).map((file) => yamlOf(join(OWN, file))),
  ...readdirSync(GATEWAY_API)
    .filter((file) => READ.has(/_(\w+)\.yaml$/.exec(file)?.[1] ?? ''))
    .map((file) => yamlOf(join(GATEWAY_API, file))),
]

interface Definition {
  readonly spec: {
    readonly group: string
    readonly names: { readonly plural: string }
    readonly versions: readonly { readonly name: string }[]
  }
}

/** Returns the path of the objects that a CRD defines, in all namespaces. */
export function listPath(definition: object): string {
  const { group, names, versions } = (definition as Definition).spec
  return `/apis/${group}/${versions[0]?.name ?? ''}/${names.plural}`
}

const yamlOf = (path: string): object => parse(readFileSync(path, 'utf8')) as object

const serverFlags = (folder: string, port: number, etcd: string): string[] => [
  `--etcd-servers=${etcd}`,
  `--secure-port=${String(port)}`,
  `--bind-address=${ADDRESS}`,
  `--advertise-address=${ADDRESS}`,
  `--cert-dir=${join(folder, 'certificates')}`,
  `--token-auth-file=${join(folder, 'tokens.csv')}`,
  '--authorization-mode=RBAC',
  '--service-cluster-ip-range=10.98.0.0/24',
  '--service-account-issuer=https://kubernetes.default.svc',
  `--service-account-key-file=${join(folder, 'account.key')}`,
  `--service-account-signing-key-file=${join(folder, 'account.key')}`,
  '--disable-admission-plugins=ServiceAccount',
]

const kubeconfigOf = (server: string, user: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: user, user: { token: user } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user } }],
    'current-context': 'test',
  })
