// A real Envoy Gateway that reads files and runs its Envoy on this machine: what a platform team has before Gatehouse comes.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { envoyPath } from '../../support/envoy.js'
import { toYaml } from '../../support/resources.js'

export const CONTROLLER = 'gateway.envoyproxy.io/gatewayclass-controller'
/** What its Envoy is called; the binary is the one of the other tests. */
export const ENVOY_VERSION = '1.40.0'

export interface EnvoyGateway {
  /** What it reads. */
  readonly folder: string
  /** Puts a file there, by an atomic rename. */
  write(file: string, ...documents: readonly object[]): Promise<void>
  writeText(file: string, text: string): Promise<void>
  remove(file: string): Promise<void>
  log(): Promise<string>
  close(): Promise<void>
}

/** Its resources are to be written; Gateways listen on the ports that they name. */
export async function startEnvoyGateway(): Promise<EnvoyGateway> {
  const program = process.env['GATEHOUSE_TEST_ENVOY_GATEWAY'] ?? 'envoy-gateway'
  const work = await mkdtemp(join(tmpdir(), 'gatehouse-mesh-'))
  const folder = join(work, 'resources')
  const bin = join(work, `data/envoy-versions/${ENVOY_VERSION}/bin`)
  await Promise.all([folder, bin].map((path) => mkdir(path, { recursive: true })))
  await symlink(envoyPath(), join(bin, 'envoy'))
  const configHome = join(work, 'config')
  await promisify(execFile)(program, ['certgen', '--local', '--config-home', configHome])
  await writeFile(join(work, 'envoy-gateway.yaml'), stringify(configuration(work, folder)))
  const log = join(work, 'log')
  const child = spawn(
    'sh',
    ['-c', 'exec "$0" server --config-path "$1" > "$2" 2>&1', program].concat(
      join(work, 'envoy-gateway.yaml'),
      log,
    ),
    { stdio: 'ignore' },
  )
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

const configuration = (work: string, folder: string): object => ({
  apiVersion: 'gateway.envoyproxy.io/v1alpha1',
  kind: 'EnvoyGateway',
  gateway: { controllerName: CONTROLLER },
  provider: {
    type: 'Custom',
    custom: {
      resource: { type: 'File', file: { paths: [folder] } },
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
  extensionApis: { enableBackend: true },
})

/** It ends its Envoy when it is told to end. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
