// An ADS client that the test controls, in place of Envoy, and small snapshots to serve to it.

import type { MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type { ClientDuplexStream } from '@grpc/grpc-js'
import type {
  DeltaDiscoveryResponse,
  DiscoveryResponse,
} from '../../../src/wire/grpc/generated/envoy/service/discovery/v3/discovery_pb.js'
import {
  DeltaDiscoveryRequestSchema,
  DiscoveryRequestSchema,
} from '../../../src/wire/grpc/generated/envoy/service/discovery/v3/discovery_pb.js'
import type { EncodedResource } from '../../../src/xds/encode/encode.js'
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  LISTENER_TYPE,
  ROUTE_TYPE,
  SECRET_TYPE,
  shortType,
  VIRTUAL_HOST_TYPE,
} from '../../../src/xds/encode/type-urls.js'
import type { GatewaySnapshot, NodeSnapshot } from '../../../src/xds/server/snapshot-cache.js'
import { discoveryService, plainClient } from '../../support/grpc-client.js'
import { encodeJson } from '../../support/json-resources.js'

type WorldRequest = MessageInitShape<typeof DiscoveryRequestSchema>
type DeltaRequest = MessageInitShape<typeof DeltaDiscoveryRequestSchema>

interface Answerable {
  readonly typeUrl: string
  readonly nonce: string
}

export class FakeStream<Request extends object, Response extends Answerable> {
  readonly ended: Promise<number>
  readonly #call: ClientDuplexStream<Request, Response>
  readonly #received: Response[] = []
  #waiting: ((response: Response) => void) | undefined

  constructor(call: ClientDuplexStream<Request, Response>) {
    this.#call = call
    this.ended = new Promise((resolve) => call.on('status', ({ code }) => resolve(code)))
    call.on('error', () => undefined)
    call.on('data', (response: Response) => {
      const waiting = this.#waiting
      this.#waiting = undefined
      if (waiting === undefined) this.#received.push(response)
      else waiting(response)
    })
  }

  send(request: Request): void {
    this.#call.write(request)
  }

  /** The next response. */
  next(): Promise<Response> {
    const first = this.#received.shift()
    if (first !== undefined) return Promise.resolve(first)
    return new Promise((resolve) => (this.#waiting = resolve))
  }

  cancel(): void {
    this.#call.cancel()
  }
}

export class World extends FakeStream<object, DiscoveryResponse> {
  #asked = new Map<string, readonly string[]>()

  ask(typeUrl: string, names: readonly string[] = [], more: WorldRequest = {}): void {
    this.#asked.set(typeUrl, names)
    this.send(create(DiscoveryRequestSchema, { typeUrl, resourceNames: [...names], ...more }))
  }

  ack(response: DiscoveryResponse, names = this.#asked.get(response.typeUrl)): void {
    const { typeUrl, nonce, versionInfo } = response
    this.ask(typeUrl, names, { responseNonce: nonce, versionInfo })
  }

  nack({ typeUrl, nonce }: DiscoveryResponse, message: string): void {
    this.ask(typeUrl, this.#asked.get(typeUrl), {
      responseNonce: nonce,
      errorDetail: { code: 13, message },
    })
  }

  /** Everything the server owed before this has arrived when it resolves; fails on any such response. */
  async silent(): Promise<void> {
    const names = [...(this.#asked.get(ENDPOINT_TYPE) ?? []), `barrier-${Math.random()}`]
    this.ask(ENDPOINT_TYPE, names)
    const response = await this.next()
    if (response.typeUrl !== ENDPOINT_TYPE || response.resources.length > 0) {
      throw new Error(`expected silence, got ${shortType(response.typeUrl)}`)
    }
    this.ack(response)
  }
}

export class Delta extends FakeStream<object, DeltaDiscoveryResponse> {
  ask(typeUrl: string, more: DeltaRequest = {}): void {
    this.send(create(DeltaDiscoveryRequestSchema, { typeUrl, ...more }))
  }

  ack({ typeUrl, nonce }: DeltaDiscoveryResponse): void {
    this.ask(typeUrl, { responseNonce: nonce })
  }

  nack({ typeUrl, nonce }: DeltaDiscoveryResponse, message: string): void {
    this.ask(typeUrl, { responseNonce: nonce, errorDetail: { code: 13, message } })
  }

  async silent(): Promise<void> {
    const name = `barrier-${Math.random()}`
    this.ask(ENDPOINT_TYPE, { resourceNamesSubscribe: [name] })
    const response = await this.next()
    if (response.typeUrl !== ENDPOINT_TYPE || !response.removedResources.includes(name)) {
      throw new Error(`expected silence, got ${shortType(response.typeUrl)}`)
    }
    this.ack(response)
  }
}

export function fakeEnvoy(address: string) {
  const client = plainClient(address)
  const open = <Response>(method: string): ClientDuplexStream<object, Response> => {
    const found = discoveryService[method]
    if (found === undefined) throw new Error(`no method ${method}`)
    return client.makeBidiStreamRequest<object, Response>(
      found.path,
      found.requestSerialize,
      found.responseDeserialize as (bytes: Buffer) => Response,
    )
  }
  return {
    world: () => new World(open<DiscoveryResponse>('streamAggregatedResources')),
    delta: () => new Delta(open<DeltaDiscoveryResponse>('deltaAggregatedResources')),
    close: () => client.close(),
  }
}

/** Each is "name" or "name=content". */
export interface Contents {
  readonly clusters?: readonly string[]
  readonly endpoints?: readonly string[]
  readonly listeners?: readonly string[]
  readonly routes?: readonly string[]
  /** "CONFIGURATION/DOMAIN". */
  readonly hosts?: readonly string[]
  readonly secrets?: readonly string[]
}

/** Returns both forms: with virtual hosts as separate resources, and without. */
export function bothForms(contents: Contents): GatewaySnapshot {
  const split = nodeSnapshot(contents)
  const whole = new Map([...split].filter(([typeUrl]) => typeUrl !== VIRTUAL_HOST_TYPE))
  return { split, whole: () => whole }
}

export const nodeSnapshot = (contents: Contents): NodeSnapshot =>
  new Map([
    [CLUSTER_TYPE, resources(contents.clusters, CLUSTER_TYPE, 'alt_stat_name')],
    [ENDPOINT_TYPE, resources(contents.endpoints, ENDPOINT_TYPE, undefined)],
    [LISTENER_TYPE, resources(contents.listeners, LISTENER_TYPE, 'stat_prefix')],
    [ROUTE_TYPE, resources(contents.routes, ROUTE_TYPE, 'internal_only_headers')],
    [VIRTUAL_HOST_TYPE, resources(contents.hosts, VIRTUAL_HOST_TYPE, 'request_headers_to_remove')],
    [SECRET_TYPE, resources(contents.secrets, SECRET_TYPE, undefined)],
  ])

const LISTS: readonly string[] = ['internal_only_headers', 'request_headers_to_remove']

const resources = (
  texts: readonly string[] = [],
  typeUrl: string,
  field: string | undefined,
): ReadonlyMap<string, EncodedResource> =>
  new Map(
    texts.map((text) => {
      const [name = '', content = ''] = text.split('=')
      const json = {
        [typeUrl === ENDPOINT_TYPE ? 'cluster_name' : 'name']: name,
        ...(field !== undefined && { [field]: LISTS.includes(field) ? [content] : content }),
        ...(typeUrl === ENDPOINT_TYPE && {
          policy: { overprovisioning_factor: content === '' ? 1 : Number(content) },
        }),
      }
      return [name, encodeJson(json, typeUrl)]
    }),
  )
