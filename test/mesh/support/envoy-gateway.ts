// Runs a real Envoy Gateway that reads files or an API server, with its Envoy on this machine: a mesh before Gatehouse
// is added.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import type { ApiServer } from '../../../testing/api-server.js'
import { envoyPath } from '../../support/envoy.js'
import { toYaml } from '../../support/resources.js'

export const CONTROLLER = 'gateway.envoyproxy.io/gatewayclass-controller'
/** Version under which it runs Envoy; the binary is that of the other tests. */
export const ENVOY_VERSION = '1.40.0'

export interface EnvoyGateway {
  /** Folder that it reads. */
  readonly folder: string
  /** Puts a file there, by an atomic rename. */
  write(file: string, ...documents: readonly object[]): Promise<void>
  writeText(file: string, text: string): Promise<void>
  remove(file: string): Promise<void>
  log(): Promise<string>
  close(): Promise<void>
}

/**
 * Starts an Envoy Gateway, whose resources the caller writes. Gateways listen on the ports that they name.
 * @param api the API server that it reads; absent: it reads the folder.
 */
export async function startEnvoyGateway(api?: ApiServer): Promise<EnvoyGateway> {
  const program = process.env['GATEHOUSE_TEST_ENVOY_GATEWAY'] ?? 'envoy-gateway'
  const work = await mkdtemp(join(tmpdir(), 'gatehouse-mesh-'))
  const folder = join(work, 'resources')
  const root = join(work, 'root')
  const bin = join(work, `data/envoy-versions/${ENVOY_VERSION}/bin`)
  await Promise.all([folder, bin, root].map((path) => mkdir(path, { recursive: true })))
  await symlink(envoyPath(), join(bin, 'envoy'))
  const configHome = join(work, 'config')
  await promisify(execFile)(program, ['certgen', '--local', '--config-home', configHome])
  await writeFile(
    join(work, 'envoy-gateway.yaml'),
    stringify(configuration(work, api ? KUBERNETES : { type: 'File', file: { paths: [folder] } })),
  )
  const log = join(work, 'log')
  const start = [
    'sh',
    '-ec',
    'exec "$0" server --config-path "$1" > "$2" 2>&1',
    program,
    join(work, 'envoy-gateway.yaml'),
    log,
  ]
  const certificates = join(configHome, 'certs/envoy-gateway')
  const child =
    api === undefined
      ? spawn('env', start, { stdio: 'ignore' })
      : spawn('unshare', ['-m', 'sh', '-ec', IN_ROOT, 'sh', root, certificates, ...start], {
          stdio: 'ignore',
          env: { ...process.env, KUBECONFIG: await api.kubeconfig() },
        })
  const writeText = async (file: string, text: string): Promise<void> => {
    const draft = join(work, `${file}.draft`)
    await writeFile(draft, text)
    await rename(draft, join(folder, file))
  }
  return {
    folder,
    writeText,
    write: (file, ...documents) => writeText(file, toYaml(...documents)),
    remove: (file) => rm(join(folder, file)),
    log: () => readFile(log, 'utf8'),
    close: async () => {
      await stop(child)
      await rm(work, { recursive: true, force: true })
    },
  }
}

/**
 * A shell script that runs its further arguments in a root of their own ($1), in which /certs are the certificates ($2):
 * with an API server, Envoy Gateway looks for them there.
 */
const IN_ROOT = `
root="$1" certificates="$2"; shift 2
mount -t tmpfs tmpfs "$root"
for entry in /*; do
  if [ -L "$entry" ]; then cp -P "$entry" "$root$entry"
  elif [ -d "$entry" ]; then mkdir "$root$entry"; mount --rbind "$entry" "$root$entry"
  fi
done
mkdir -p "$root/certs"
mount --bind "$certificates" "$root/certs"
exec chroot "$root" "$@"`

const KUBERNETES = { type: 'Kubernetes', kubernetes: { leaderElection: { disable: true } } }

const configuration = (work: string, resource: object): object => ({
  apiVersion: 'gateway.envoyproxy.io/v1alpha1',
  kind: 'EnvoyGateway',
  gateway: { controllerName: CONTROLLER },
  provider: {
    type: 'Custom',
    custom: {
      resource,
      infrastructure: {
        type: 'Host',
        host: {
          configHome: join(work, 'config'),
          dataHome: join(work, 'data'),
          stateHome: join(work, 'state'),
          runtimeDir: join(work, 'run'),
        },
      },
    },
  },
  logging: { level: { default: 'info' } },
  envoyProxy: { provider: { type: 'Host', host: { envoyVersion: ENVOY_VERSION } } },
  extensionApis: { enableBackend: true, enableEnvoyPatchPolicy: true },
})

/** It ends its Envoy when it is told to end. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
