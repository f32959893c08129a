// One gRPC server for all services: binds, serves, drains.

import { Server, ServerCredentials } from '@grpc/grpc-js'
import type { ChannelOptions, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js'
import type { Logger } from '../logger.js'
import { isLocalHost, parseGrpcAddress } from './address.js'
import type { GrpcAddress } from './address.js'
import { watchCertificates } from './certificates.js'
import type { TlsFiles } from './certificates.js'
import { forgetEndedStreams } from './forget-streams.js'
import { createHealth } from './health.js'
import { hostPort, listen } from './listen.js'
import type { Listening } from './listen.js'
import { healthService } from './protos.js'

export interface GrpcService {
  /** As the protos have it, e.g. "envoy.service.auth.v3.Authorization": what health checks ask for. */
  readonly name: string
  readonly definition: ServiceDefinition
  readonly implementation: UntypedServiceImplementation
  /**
   * Ends the service's streams within timeoutMs: those that owe an answer never with OK.
   * Services are drained one after the other, in the order given.
   */
  drain?(timeoutMs: number): Promise<void> | void
}

export interface GrpcServerOptions {
  /** host:port (port 0: any free one) or unix:PATH */
  readonly address: string
  /** Absent: plaintext. */
  readonly tls?: TlsFiles
  readonly services: readonly GrpcService[]
  readonly logger: Logger
}

export interface GrpcServer {
  /** As given, with the port that was bound. */
  readonly address: string
  /** What health checks are told, of every service. true at the start. */
  setServing(serving: boolean): void
  /** Says NOT_SERVING, takes nothing new, waits for what is under way, then ends what is left. */
  drain(timeoutMs: number): Promise<void>
  /** At once. */
  close(): Promise<void>
}

const LIMITS: ChannelOptions = {
  'grpc.max_receive_message_length': 32 * 1024 * 1024,
  'grpc.max_send_message_length': 64 * 1024 * 1024,
  'grpc.max_concurrent_streams': 16_384,
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.enable_channelz': 0,
}

/**
 * Envoy resets every ext_proc stream when it is done with it, and a check whose client has left. Node's HTTP/2 takes many
 * resets for an attack and ends the connection, with all that is under way on it; both options together lift that, and
 * grpc-js has no setting for them. Bounds of our own on what is under way hold all the same.
 */
const allowResets = (server: Server): void => {
  const { commonServerOptions } = server as unknown as { commonServerOptions: object }
  Object.assign(commonServerOptions, { streamResetBurst: 2 ** 31, streamResetRate: 2 ** 31 })
}

/** @throws {Error} the address is taken or no address, or the certificates cannot be used. */
export const startGrpcServer = async (options: GrpcServerOptions): Promise<GrpcServer> => {
  const { services, logger, tls } = options
  const address = parseGrpcAddress(options.address)
  const health = createHealth(services.map((service) => service.name))
  const server = new Server(LIMITS)
  allowResets(server)
  server.addService(healthService, health.implementation)
  for (const service of services) server.addService(service.definition, service.implementation)

  warnIfOpen(address, tls, logger)
  const certificates = tls === undefined ? undefined : await watchCertificates(tls, logger)
  const credentials = certificates?.credentials ?? ServerCredentials.createInsecure()
  const injector = server.createConnectionInjector(credentials)
  forgetEndedStreams(server)
  const listening = await listen(address, (socket) => injector.injectConnection(socket)).catch(
    (error: unknown) => {
      certificates?.close()
      throw error
    },
  )

  const stop = (): void => {
    listening.stopAccepting()
    listening.cutOff()
    server.forceShutdown()
    certificates?.close()
  }
  return {
    address: listening.address,
    setServing: (serving) => health.setServing(serving),
    drain: async (timeoutMs) => {
      health.setServing(false)
      const closeHealth = (): void => health.close()
      await drain({ server, listening, services, closeHealth, timeoutMs, logger })
      stop()
    },
    close: () => {
      health.close()
      stop()
      return Promise.resolve()
    },
  }
}

interface Draining {
  readonly server: Server
  readonly listening: Listening
  readonly services: readonly GrpcService[]
  readonly closeHealth: () => void
  readonly timeoutMs: number
  readonly logger: Logger
}

const drain = async (draining: Draining): Promise<void> => {
  const { server, listening, services, closeHealth, timeoutMs, logger } = draining
  const deadline = Date.now() + timeoutMs
  listening.stopAccepting()
  // From Node 24 on, tryShutdown calls back while calls are under way: the connections tell when they have ended.
  server.tryShutdown(() => undefined)
  const stopped = listening.allClosed()
  for (const service of services) {
    await within(deadline, Promise.resolve(service.drain?.(Math.max(0, deadline - Date.now()))))
  }
  closeHealth()
  if (!(await within(deadline, stopped))) logger.warn({ timeoutMs }, 'calls cut off at shutdown')
}

/** false: the time is up. */
const within = async (deadline: number, work: Promise<unknown>): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), Math.max(0, deadline - Date.now()))
  })
  const done = await Promise.race([work.then(() => true), timeout])
  clearTimeout(timer)
  return done
}

const warnIfOpen = (address: GrpcAddress, tls: TlsFiles | undefined, logger: Logger): void => {
  if (address.type === 'unix' || isLocalHost(address.host) || tls?.clientCa !== undefined) return
  logger.warn(
    { address: hostPort(address) },
    'anyone who can reach this address can ask for decisions and read configuration: ' +
      'set --grpc-tls-cert, --grpc-tls-key and --grpc-client-ca',
  )
}
