// A folder of resources that a provider watches, for one test file: created before each test and removed after it.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import type {
  ProviderState,
  ResourceProvider,
} from '../../../../src/control/schema/kinds/resources.js'
import {
  createFileProvider,
  type FileProviderOptions,
} from '../../../../src/control/sources/files/file-provider.js'

export const backend = (name: string, port = 80) => `apiVersion: policy.gatehouse.dev/v1alpha1
kind: ProxyBackend
metadata:
  name: ${name}
spec:
  static:
    host: ${name}.example
    port: ${port}
`

export const route = (name: string) => `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: ${name}
spec:
  parentRefs:
    - name: gateway
`

export const policy = (mode: string) => `apiVersion: policy.gatehouse.dev/v1alpha1
kind: ProxyPolicy
metadata:
  name: policy
spec:
  targetRefs:
    - group: gateway.networking.k8s.io
      kind: HTTPRoute
      name: new
  traffic:
    jwtAuthentication:
      mode: ${mode}
      providers:
        - issuer: https://idp.example
          jwks:
            inline: '{"keys":[]}'
`

/** A provider of the folder, and the states it reported. */
export class Watched {
  readonly states: ProviderState[] = []
  readonly warnings: string[] = []
  readonly provider: ResourceProvider
  #waiting: (() => void)[] = []

  constructor(
    paths: readonly string[],
    options: Pick<FileProviderOptions, 'watch' | 'maxFiles' | 'walkAfter'> = {},
  ) {
    this.provider = createFileProvider({
      paths,
      apiGroup: 'policy.gatehouse.dev',
      onWarning: (message) => this.warnings.push(message),
      ...options,
    })
  }

  async start(): Promise<this> {
    await this.provider.start((state) => {
      this.states.push(state)
      for (const wake of this.#waiting.splice(0)) wake()
    })
    return this
  }

  get state(): ProviderState {
    const last = this.states.at(-1)
    if (last === undefined) throw new Error('no state yet')
    return last
  }

  /** The first state, the last one counted, that is as wanted. */
  async until(wanted: (state: ProviderState) => boolean): Promise<ProviderState> {
    while (!wanted(this.state)) await new Promise<void>((wake) => this.#waiting.push(wake))
    return this.state
  }
}

export const ports = ({ resources }: ProviderState) =>
  Object.fromEntries(
    resources.proxyBackends.map(({ metadata, spec }) => [metadata.name, spec.static.port]),
  )

export const hasPorts = (expected: Record<string, number>) => (state: ProviderState) =>
  JSON.stringify(ports(state)) === JSON.stringify(expected)

export const messages = ({ problems }: ProviderState) =>
  problems.map(({ source, message }) => `${source} ${message}`)

let folder: string
let watched: Watched | undefined

/** The folder of the test that runs, or a path below it. */
export const at = (...names: string[]) => join(folder, ...names)

/** The folder itself, if no path is given. */
export async function watch(
  paths: readonly string[] = [folder],
  options: ConstructorParameters<typeof Watched>[1] = {},
): Promise<Watched> {
  watched = new Watched(paths, options)
  return watched.start()
}

/** Gives each test of the calling file a folder of its own, and removes it. */
export function useFolder(): void {
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'resources-'))
  })

  afterEach(async () => {
    await watched?.provider.close()
    watched = undefined
    rmSync(folder, { recursive: true, force: true })
  })
}
