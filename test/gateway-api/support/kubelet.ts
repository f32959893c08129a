// A stand-in for a scheduler and a kubelet: pods get an address of their own and run the one program of their image,
// with volumes from Secrets and ConfigMaps, readiness, and logs that the API server can ask for.

import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { ApiServer } from '../../../testing/api-server.js'
import { selfSigned } from '../../support/certificates.js'
import { type Loop, startLoop } from './loop.js'
import { createMachine, type Sandbox } from './machine.js'

const NODE = 'machine'
const KUBELET_PORT = 10_250

export interface KubeletOptions {
  readonly api: ApiServer
  /** Address of this machine, where the API server asks for logs. */
  readonly address: string
  /** Folder for logs and volumes. */
  readonly folder: string
  /** The program of an image; undefined: pods of the image only get an address. */
  programOf(image: string, container: Container): Program | undefined
}

export interface Program {
  readonly command: readonly string[]
  /** The pod is ready when this port takes connections; absent: as soon as the program runs. */
  readonly port?: number
}

export interface Kubelet {
  close(): Promise<void>
}

export interface Container {
  readonly name: string
  readonly image: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: readonly {
    readonly name: string
    readonly value?: string
    readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } }
  }[]
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
}

interface Items {
  readonly items?: readonly { readonly key: string; readonly path: string }[]
}

interface Volume {
  readonly name: string
  readonly secret?: Items & { readonly secretName: string }
  readonly configMap?: Items & { readonly name: string }
  readonly emptyDir?: object
}

interface Pod {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly deletionTimestamp?: string
  }
  readonly spec: {
    readonly nodeName?: string
    readonly containers: readonly [Container]
    readonly volumes?: readonly Volume[]
  }
  readonly status: { readonly phase: string }
}

interface Line {
  readonly at: number
  readonly text: string
}

interface Running {
  readonly sandbox: Sandbox
  readonly lines: Line[]
  /** Program.port. */
  readonly port: number | undefined
}

export async function startKubelet(options: KubeletOptions): Promise<Kubelet> {
  const kubelet = new StandIn(options)
  await kubelet.start()
  return kubelet
}

class StandIn implements Kubelet {
  readonly #options: KubeletOptions
  readonly #machine = createMachine()
  /** Running pods by uid. */
  readonly #running = new Map<string, Running>()
  readonly #logs
  #loop: Loop | undefined

  constructor(options: KubeletOptions) {
    this.#options = options
    const { cert, key } = selfSigned(options.address)
    this.#logs = createServer({ cert, key }, (request, response) => {
      const url = new URL(request.url ?? '/', 'https://kubelet')
      const [, , namespace = '', pod = ''] = url.pathname.split('/')
      const since = Date.parse(url.searchParams.get('sinceTime') ?? '') || 0
      const lines = this.#linesOf.get(`${namespace}/${pod}`) ?? []
      response.end(
        lines
          .filter(({ at }) => at >= since)
          .map(({ text }) => `${text}\n`)
          .join(''),
      )
    })
  }

  /** Log lines by NAMESPACE/POD. */
  readonly #linesOf = new Map<string, Line[]>()

  async start(): Promise<void> {
    const { api, address } = this.#options
    this.#logs.listen(KUBELET_PORT, address)
    await once(this.#logs, 'listening')
    await api.call('POST', '/api/v1/nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: NODE },
    })
    const status = {
      addresses: [{ type: 'InternalIP', address }],
      daemonEndpoints: { kubeletEndpoint: { Port: KUBELET_PORT } },
    }
    await api.call('PATCH', `/api/v1/nodes/${NODE}/status`, { status })
    this.#loop = startLoop(() => this.#lookAtAll(), join(this.#options.folder, 'kubelet.log'))
  }

  async close(): Promise<void> {
    await this.#loop?.close()
    this.#logs.close()
    this.#machine.close()
  }

  async #lookAtAll(): Promise<void> {
    const list = await this.#options.api.call('GET', '/api/v1/pods')
    const pods = (list as unknown as { readonly items: readonly Pod[] }).items
    const looks = await Promise.allSettled(pods.map((pod) => this.#look(pod)))
    for (const look of looks) if (look.status === 'rejected') throw look.reason
  }

  async #look(pod: Pod): Promise<void> {
    const { metadata, spec, status } = pod
    const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`
    if (metadata.deletionTimestamp !== undefined) return this.#end(path, metadata.uid)
    if (spec.nodeName === undefined)
      return this.#call('POST', `${path}/binding`, {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name: metadata.name },
        target: { kind: 'Node', name: NODE },
      })
    if (status.phase === 'Running') return undefined
    const running = this.#running.get(metadata.uid) ?? (await this.#begin(pod))
    const [container] = spec.containers
    if (!(await isReady(running))) return undefined
    return this.#call('PATCH', `${path}/status`, {
      status: statusOf(container, running.sandbox.address, this.#options.address),
    })
  }

  async #call(...call: Parameters<ApiServer['call']>): Promise<void> {
    await this.#options.api.call(...call)
  }

  async #begin(pod: Pod): Promise<Running> {
    const { metadata, spec } = pod
    const [container] = spec.containers
    const mounts = await this.#mounts(pod)
    const lines: Line[] = []
    const program = this.#options.programOf(container.image, container)
    const sandbox = await this.#machine.sandbox()
    const running = { sandbox, lines, port: program?.port }
    this.#running.set(metadata.uid, running)
    this.#linesOf.set(`${metadata.namespace}/${metadata.name}`, lines)
    const log = join(this.#options.folder, `${metadata.namespace}.${metadata.name}.log`)
    const env = environmentOf(pod, mounts)
    if (program !== undefined)
      sandbox.run(
        { command: program.command.map((part) => expanded(mounted(part, mounts), env)), env, log },
        (text) => lines.push({ at: Date.now(), text }),
      )
    return running
  }

  async #end(path: string, uid: string): Promise<void> {
    this.#running.get(uid)?.sandbox.close()
    this.#running.delete(uid)
    await this.#call('DELETE', `${path}?gracePeriodSeconds=0`)
  }

  /** Writes the volumes to folders; returns the folder of each mount path. */
  async #mounts({ metadata, spec }: Pod): Promise<ReadonlyMap<string, string>> {
    const { volumes = [], containers } = spec
    const folderOf = ({ name }: Volume): string =>
      join(this.#options.folder, 'volumes', metadata.uid, name)
    const mounts = new Map(
      volumes.flatMap((volume) =>
        (containers[0].volumeMounts ?? [])
          .filter(({ name }) => name === volume.name)
          .map(({ mountPath }) => [mountPath, folderOf(volume)] as const),
      ),
    )
    for (const volume of volumes) {
      const { secret, configMap, emptyDir } = volume
      const source = secret ?? configMap
      if (source === undefined && emptyDir === undefined) continue
      mkdirSync(folderOf(volume), { recursive: true })
      if (source === undefined) continue
      const plural = secret === undefined ? 'configmaps' : 'secrets'
      const object = secret?.secretName ?? configMap?.name ?? ''
      const { data = {} } = (await this.#options.api.call(
        'GET',
        `/api/v1/namespaces/${metadata.namespace}/${plural}/${object}`,
      )) as { data?: Readonly<Record<string, string>> }
      const items = source.items ?? Object.keys(data).map((key) => ({ key, path: key }))
      for (const { key, path } of items) {
        const text = data[key] ?? ''
        const file = join(folderOf(volume), path)
        // A file may name others by their mount paths.
        if (secret === undefined) writeFileSync(file, mounted(text, mounts))
        else writeFileSync(file, Buffer.from(text, 'base64'))
      }
    }
    return mounts
  }
}

const mounted = (text: string, mounts: ReadonlyMap<string, string>): string =>
  [...mounts].reduce((path, [from, to]) => path.replace(from, to), text)

const expanded = (text: string, env: Readonly<Record<string, string>>): string =>
  text.replace(/\$\((\w+)\)/g, (whole, name: string) => env[name] ?? whole)

function environmentOf(
  { metadata, spec }: Pod,
  mounts: ReadonlyMap<string, string>,
): Readonly<Record<string, string>> {
  const fields: Readonly<Record<string, string>> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
  }
  return Object.fromEntries(
    (spec.containers[0].env ?? []).map(({ name, value = '', valueFrom }) => [
      name,
      fields[valueFrom?.fieldRef?.fieldPath ?? ''] ?? mounted(value, mounts),
    ]),
  )
}

async function isReady({ sandbox, port }: Running): Promise<boolean> {
  if (port === undefined) return true
  const host = sandbox.address
  const socket = connect({ host, port, timeout: 1000 })
  try {
    await Promise.race([once(socket, 'connect'), once(socket, 'timeout').then(fail)])
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

function fail(): never {
  throw new Error('timed out')
}

function statusOf({ name, image }: Container, podIP: string, hostIP: string): object {
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
  return {
    phase: 'Running',
    podIP,
    podIPs: [{ ip: podIP }],
    hostIP,
    startTime: now,
    containerStatuses: [
      {
        name,
        image,
        imageID: '',
        restartCount: 0,
        ready: true,
        state: { running: { startedAt: now } },
      },
    ],
    conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: now,
    })),
  }
}
