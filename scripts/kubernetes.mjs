// Helpers for scripts that need a Kubernetes API server: provides kube-apiserver, etcd, helm and the Gateway API CRDs,
// and a separate network namespace, because the API server accepts no loopback address for an endpoint.

import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { findHelm } from './helm.mjs'
import { attempt, cacheFolder, onPath } from './install.mjs'
import { ownNetwork } from './network.mjs'
import { SetupError } from './setup-error.mjs'
import { root } from './stale.mjs'
import { testEnvoy } from './test-envoy.mjs'

const KUBERNETES = '1.35.0'
/** Flags of the linker: programs of Kubernetes report the version that they were built with. */
export const LDFLAGS = `-s -w -X k8s.io/component-base/version.gitVersion=v${KUBERNETES}`
/** As in go.mod of test/kubernetes/apiserver. */
const ETCD = '3.6.5'
const GATEWAY_API = 'sigs.k8s.io/gateway-api@v1.6.3'
/** Address of the API server and of the endpoints. */
const ADDRESS = '10.99.0.1'

const say = (text) => process.stderr.write(`kubernetes: ${text}\n`)

/**
 * Resolves to the environment of a program that needs the API server, and the command (`within`) that runs it in the network
 * namespace.
 * @param more further environment variables.
 */
export async function cluster(more = { GATEHOUSE_TEST_HELM: findHelm(say) }) {
  const env = {
    ...process.env,
    GATEHOUSE_TEST_APISERVER: apiServer(),
    GATEHOUSE_TEST_ETCD: etcd(),
    GATEHOUSE_TEST_GATEWAY_API: gatewayApi(),
    GATEHOUSE_TEST_ENVOY: await testEnvoy(say),
    GATEHOUSE_TEST_ADDRESS: ADDRESS,
    ...more,
  }
  return { env, within: ownNetwork([ADDRESS], say) }
}

/** Returns the path of etcd: envtest's or one on PATH if it is new enough, or one built once. */
export function etcd() {
  const found = asset('etcd')
  return found !== undefined && isNewEnough(found) ? found : built('etcd', './etcd', ETCD)
}

/** From 3.5.13 on, kube-apiserver answers lists from its own cache. Without, it decodes all objects again each time. */
function isNewEnough(program) {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  const [, major, minor, patch] = /etcd Version: (\d+)\.(\d+)\.(\d+)/.exec(stdout ?? '') ?? []
  const order = Number(major) * 1e6 + Number(minor) * 1e3 + Number(patch)
  return order >= 3_005_013
}

/** Returns the path of kube-apiserver: envtest's, one on PATH, or one built once. */
const apiServer = () => asset('kube-apiserver') ?? built('kube-apiserver', '.')

/** Returns the path of kube-controller-manager: one on PATH, or one built once. */
export const controllerManager = () =>
  asset('kube-controller-manager') ?? built('kube-controller-manager', './controller-manager')

/** Returns the path of kubectl: one on PATH, or one built once. */
export const kubectl = () => asset('kubectl') ?? built('kubectl', './kubectl')

function built(name, part, version = KUBERNETES) {
  const folder = join(cacheFolder(), `${name}-${version}`)
  const program = join(folder, name)
  if (existsSync(program)) return program
  go()
  const time = name === 'etcd' ? 'half a minute' : 'three to five minutes'
  say(`building ${name} ${version} into ${folder} (once, ${time})`)
  mkdirSync(folder, { recursive: true })
  const draft = `${program}.${process.pid}`
  attempt('go', ['build', '-trimpath', '-ldflags', LDFLAGS, '-o', draft, part], {
    cwd: join(root, 'test/kubernetes/apiserver'),
    trouble: `${name} could not be built: see the message of go above; is its module proxy reachable?`,
  })
  renameSync(draft, program)
  return program
}

/** Returns the folder with the CRDs of the Gateway API. */
export const gatewayApi = () => goModule(GATEWAY_API, 'config/crd/experimental')

/**
 * Returns a path within a Go module, downloaded if missing.
 * @param module PATH@VERSION, or PATH for the version that go.mod of the folder requires.
 * @param folder a folder whose go.sum has the module's hash, which go compares with what it gets.
 */
export function goModule(module, path, folder = root) {
  go()
  const { status, stdout } = spawnSync('go', ['mod', 'download', '-json', module], {
    cwd: folder,
    env: { ...process.env, GOWORK: 'off' },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 2],
  })
  if (status !== 0)
    throw new SetupError(
      `${module} could not be had: see the message of go above; is its module proxy reachable?`,
    )
  return join(JSON.parse(stdout).Dir, path)
}

function asset(name) {
  const folder = process.env['KUBEBUILDER_ASSETS']
  const given = folder === undefined ? undefined : join(folder, name)
  return given !== undefined && existsSync(given) ? given : onPath(name)
}

function go() {
  if (onPath('go') !== undefined) return execFileSync('go', ['version'], { encoding: 'utf8' })
  throw new SetupError(
    'go is missing, which fetches modules and builds programs for these tests: install Go 1.25 or newer (https://go.dev)',
  )
}
