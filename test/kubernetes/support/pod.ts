// The containers of a pod of the chart, run as the kubelet would run them, without the isolation.

import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { envoyPath } from '../../support/envoy.js'
import type { KeyPair } from '../../support/certificates.js'
import type { AnyObject } from './api-call.js'

const MAIN = resolve(import.meta.dirname, '../../../dist/main.js')
const NAME = 'pod-1'

export interface Container {
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: string[] } } }
}

/** By its name, of whichever pod has it. */
export function containerNamed(objects: readonly AnyObject[], name: string): Container {
  const pods = objects
    .filter(({ kind }) => kind === 'Deployment')
    .map(({ spec }) => (spec as { template: { spec: Pod } }).template.spec)
  const found = pods
    .flatMap(({ containers, initContainers = [] }) => [...containers, ...initContainers])
    .find((container) => container.name === name)
  if (found === undefined) throw new Error(`there is no container ${name}`)
  return found
}

interface Pod {
  readonly containers: readonly (Container & { readonly name: string })[]
  readonly initContainers?: readonly (Container & { readonly name: string })[]
}

/** The text that the ConfigMap with a bootstrap holds. */
export function bootstrapOf(objects: readonly AnyObject[]): string {
  const found = objects.find(({ kind }) => kind === 'ConfigMap') as
    { readonly data: Readonly<Record<string, string>> } | undefined
  return found?.data['bootstrap.yaml'] ?? ''
}

/** As a Secret of type kubernetes.io/tls is mounted; ca: whom its owner trusts. */
export function mountTls(folder: string, { cert, key }: KeyPair, ca: string): string {
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of [
    ['tls.crt', cert],
    ['tls.key', key],
    ['ca.crt', ca],
  ] as const)
    writeFileSync(join(folder, name), text)
  return folder
}

/** tls: what is mounted where the chart says. */
export function runGatehouse({ args = [] }: Container, kubeconfig: string, tls = ''): ChildProcess {
  const env = { KUBECONFIG: kubeconfig, POD_NAME: NAME, POD_NAMESPACE: 'default' }
  const given = args.map((arg) => arg.replace('/etc/gatehouse/tls', tls))
  return spawn(process.execPath, [MAIN, ...given], {
    stdio: 'ignore',
    env: { ...process.env, ...env },
  })
}

/** bootstrap: a file in the place of the one that is mounted. */
export function runEnvoy({ command = [] }: Container, bootstrap: string): ChildProcess {
  const [, ...args] = command.map((arg) =>
    arg.replace('/etc/envoy/bootstrap.yaml', bootstrap).replace('$(POD_NAME)', NAME),
  )
  return spawn(envoyPath(), [...args, '--concurrency', '1', '--log-level', 'critical'], {
    stdio: 'ignore',
  })
}

export function preStop({ lifecycle }: Container): void {
  const [program = '', ...args] = lifecycle?.preStop.exec.command ?? []
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}

export async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const end = once(child, 'close')
    child.kill('SIGTERM')
    await end
  }
  return child.exitCode
}
