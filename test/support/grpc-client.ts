// The proto services as definitions for clients and servers of grpc-js.

import type { DescMessage, DescService, MessageShape } from '@bufbuild/protobuf'
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { Client, credentials, type MethodDefinition, type ServiceDefinition } from '@grpc/grpc-js'
import { Authorization } from '../../src/wire/grpc/generated/envoy/service/auth/v3/external_auth_pb.js'
import { AggregatedDiscoveryService } from '../../src/wire/grpc/generated/envoy/service/discovery/v3/ads_pb.js'
import { ExternalProcessor } from '../../src/wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { Health } from '../../src/wire/grpc/generated/grpc/health/v1/health_pb.js'

/**
 * Creates a client with connections of its own. grpc-js would share those of clients before it, and a server may have the
 * port of one that has just closed.
 */
export const plainClient = (address: string): Client =>
  new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 })

/** Encodes and decodes the messages of one direction of a method. Both functions throw on invalid input. */
export interface Codec<T> {
  serialize(this: void, message: T): Buffer
  deserialize(this: void, bytes: Buffer): T
}

export interface GrpcMethod<Request, Response> {
  /** "/package.Service/Method" */
  readonly path: string
  readonly requestStream: boolean
  readonly responseStream: boolean
  readonly request: Codec<Request>
  readonly response: Codec<Response>
}

/** Defines a method for grpc-js, with the given codecs. */
export const grpcMethod = <Request, Response>(
  method: GrpcMethod<Request, Response>,
): MethodDefinition<Request, Response> => ({
  path: method.path,
  requestStream: method.requestStream,
  responseStream: method.responseStream,
  requestSerialize: method.request.serialize,
  requestDeserialize: method.request.deserialize,
  responseSerialize: method.response.serialize,
  responseDeserialize: method.response.deserialize,
})

export const messageCodec = <Desc extends DescMessage>(
  schema: Desc,
): Codec<MessageShape<Desc>> => ({
  serialize(message) {
    const bytes = toBinary(schema, message)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  },
  deserialize: (bytes) => fromBinary(schema, bytes),
})

/** The methods of a service, keyed by lowerCamelCase name: check, process, streamAggregatedResources, ... */
const grpcService = (service: DescService): ServiceDefinition =>
  Object.fromEntries(
    service.methods.map((method) => [
      method.localName,
      grpcMethod({
        path: `/${service.typeName}/${method.name}`,
        requestStream:
          method.methodKind === 'client_streaming' || method.methodKind === 'bidi_streaming',
        responseStream:
          method.methodKind === 'server_streaming' || method.methodKind === 'bidi_streaming',
        request: messageCodec(method.input),
        response: messageCodec(method.output),
      }),
    ]),
  )

export const AUTHORIZATION = 'envoy.service.auth.v3.Authorization'
export const DISCOVERY = 'envoy.service.discovery.v3.AggregatedDiscoveryService'
export const EXTERNAL_PROCESSOR = 'envoy.service.ext_proc.v3.ExternalProcessor'

export const authorizationService: ServiceDefinition = grpcService(Authorization)
export const externalProcessorService: ServiceDefinition = grpcService(ExternalProcessor)
export const discoveryService: ServiceDefinition = grpcService(AggregatedDiscoveryService)
export const healthService: ServiceDefinition = grpcService(Health)
