// Runs the containers of the chart's pods as the kubelet would, but without isolation.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AnyObject } from '../../../testing/api-call.js'
import { MAIN } from '../../../testing/program.js'
import type { KeyPair } from '../../support/certificates.js'
import { envoyPath } from '../../support/envoy.js'

const NAME = 'pod-1'

export interface Container {
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
  readonly securityContext?: { readonly runAsUser?: number; readonly runAsGroup?: number }
  readonly volumeMounts?: readonly { readonly mountPath: string }[]
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: string[] } } }
}

/** Returns the container of that name, from whichever pod has it. */
export function containerNamed(objects: readonly AnyObject[], name: string): Container {
  const found = podsOf(objects)
    .flatMap(containersOf)
    .find((container) => container.name === name)
  if (found === undefined) throw new Error(`there is no container ${name}`)
  return found
}

type Named = Container & { readonly name: string }

interface Pod {
  readonly containers: readonly Named[]
  readonly initContainers?: readonly Named[]
  readonly securityContext?: { readonly fsGroup?: number }
}

const podsOf = (objects: readonly AnyObject[]): readonly Pod[] =>
  objects
    .filter(({ kind }) => kind === 'Deployment')
    .map(({ spec }) => (spec as { template: { spec: Pod } }).template.spec)

const containersOf = ({ containers, initContainers = [] }: Pod): readonly Named[] => [
  ...containers,
  ...initContainers,
]

/** Returns the files of the ConfigMap with the bootstrap, by name. */
export function filesOf(objects: readonly AnyObject[]): Readonly<Record<string, string>> {
  const found = objects.find(({ kind }) => kind === 'ConfigMap') as
    { readonly data: Readonly<Record<string, string>> } | undefined
  return found?.data ?? {}
}

/**
 * Writes files as a mounted Secret of type kubernetes.io/tls would have them.
 * @param ca the authority that the Secret's owner trusts.
 */
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

/** Maps folders of a container to folders of this machine. */
export type Mounts = Readonly<Record<string, string>>

/** Replaces the folders in a text, longest first, since one may be a prefix of another. */
export const mounted = (text: string, mounts: Mounts): string =>
  Object.keys(mounts)
    .sort((a, b) => b.length - a.length)
    .reduce((before, folder) => before.replaceAll(folder, mounts[folder] ?? ''), text)

/** Returns the user that the chart sets for a container. */
export function userOf(objects: readonly AnyObject[], name: string): User {
  const [pod] = podsOf(objects).filter((each) => containersOf(each).some((c) => c.name === name))
  const { runAsUser = 0, runAsGroup = 0 } = containerNamed(objects, name).securityContext ?? {}
  const { fsGroup } = pod?.securityContext ?? {}
  return { user: runAsUser, group: runAsGroup, groups: fsGroup === undefined ? [] : [fsGroup] }
}

export interface User {
  readonly user: number
  readonly group: number
  readonly groups: readonly number[]
}

const becoming = ({ user, group, groups }: User): readonly string[] => [
  'setpriv',
  '--reuid',
  String(user),
  '--regid',
  String(group),
  ...(groups.length === 0 ? ['--clear-groups'] : ['--groups', groups.join(',')]),
]

const [, ...NOBODY] = becoming({ user: 65_534, group: 65_534, groups: [] })
/** Whether this process may run programs as other users, and those may read the build. */
export const hasUsers =
  spawnSync('setpriv', [...NOBODY, process.execPath, MAIN, '--version']).status === 0

export interface Run {
  readonly mounts: Mounts
  /** Absent: the user of this process. */
  readonly user?: User | undefined
}

function start(command: readonly string[], { user }: Run, env: NodeJS.ProcessEnv): ChildProcess {
  const as = user === undefined || !hasUsers ? [] : becoming(user)
  const [program = '', ...args] = [...as, ...command]
  return spawn(program, args, { stdio: 'ignore', env })
}

export function runGatehouse(
  { args = [] }: Container,
  kubeconfig: string,
  run: Run = { mounts: {} },
): ChildProcess {
  const env = { KUBECONFIG: kubeconfig, POD_NAME: NAME, POD_NAMESPACE: 'default' }
  const given = args.map((arg) => mounted(arg, run.mounts))
  return start([process.execPath, MAIN, ...given], run, { ...process.env, ...env })
}

/**
 * Runs Envoy. The mounts must replace /etc/envoy by a folder with bootstrap.yaml.
 * @param binary an Envoy that the user may run.
 */
export function runEnvoy(
  { command = [] }: Container,
  run: Run,
  binary = envoyPath(),
): ChildProcess {
  const [, ...args] = command.map((arg) => mounted(arg, run.mounts).replace('$(POD_NAME)', NAME))
  const quiet = ['--concurrency', '1', '--log-level', 'critical']
  return start([binary, ...args, ...quiet], run, process.env)
}

export function preStop({ lifecycle }: Container, { mounts, user }: Run): void {
  const command = (lifecycle?.preStop.exec.command ?? []).map((arg) => mounted(arg, mounts))
  const as = user === undefined || !hasUsers ? [] : becoming(user)
  const [program = '', ...args] = [...as, ...command]
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0 || stderr !== '') throw new Error(stderr)
}

/** Returns the stdout of a command run as a user. Throws if it fails. */
export function outputAs(user: User, command: readonly string[]): string {
  const [program = '', ...args] = hasUsers ? [...becoming(user), ...command] : command
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return stdout
}

export async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const end = once(child, 'close')
    child.kill('SIGTERM')
    await end
  }
  return child.exitCode
}
