// Parses the text of a flag or an environment variable into a typed value, or says what was expected.

import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import type { AllowedAddress } from '../../kit/addresses/address-rules.js'
import { err, ok, type Result } from '../../kit/result.js'
import { isHttpUrl } from './telemetry.js'

/** Parses a value. error: what was expected, to follow "expected ". */
export type ReadValue<T> = (text: string) => Result<T, string>

/** Address on which a server listens or is reached. */
export type ServerAddress =
  | { readonly type: 'tcp'; readonly host: string; readonly port: number }
  | { readonly type: 'unix'; readonly path: string }

/** A host with a port. */
export interface TcpAddress {
  readonly type: 'tcp'
  /** Host name or IP address, without brackets. */
  readonly host: string
  readonly port: number
}

/** Namespace and name of a resource. */
export interface NamespacedName {
  readonly namespace: string
  readonly name: string
}

/** Formats an address as users write it: host:port, [ipv6]:port or unix:PATH. */
export function formatAddress(address: ServerAddress): string {
  if (address.type === 'unix') return `unix:${address.path}`
  const host = isIP(address.host) === 6 ? `[${address.host}]` : address.host
  return `${host}:${address.port}`
}

/** Whether this is a TCP address that only this machine (in a cluster: this pod) can reach. */
export const isLoopback = (address: ServerAddress): boolean =>
  address.type === 'tcp' && /^(127\.|::1$|localhost$)/.test(address.host)

interface Logged {
  readonly refusals: boolean
  /** Whether similar refusals have lines of their own too. */
  readonly everyRefusal: boolean
  /** N to log one of N allowed requests; 0: none. */
  readonly oneAllowedOf: number
}

/** Reads refusals, all, all:N or none. */
export const readDecisionLog: ReadValue<Logged> = (text) => {
  const every = /^all(?::([1-9]\d{0,8}))?$/.exec(text)
  if (every !== null)
    return ok({
      refusals: true,
      everyRefusal: text === 'all',
      oneAllowedOf: Number(every[1] ?? 1),
    })
  if (text === 'refusals' || text === 'none')
    return ok({ refusals: text === 'refusals', everyRefusal: false, oneAllowedOf: 0 })
  return err('refusals, all, all:N (one of N allowed requests) or none')
}

/** Reads names separated by commas. */
export const readNames: ReadValue<readonly string[]> = (text) => {
  const names = text.split(',').map((name) => name.trim())
  return names.includes('') ? err('names with commas between them, e.g. azp,groups') : ok(names)
}

/** Reads any text that is not blank. */
export const readText: ReadValue<string> = (text) =>
  text.trim() === '' ? err('a value that is not empty') : ok(text)

/** Reads an http or https URL without credentials and query. */
export const readHttpUrl: ReadValue<string> = (text) =>
  isHttpUrl(text)
    ? ok(text)
    : err('a URL with http or https and no credentials, e.g. http://127.0.0.1:4318')

/** Reads a percentage. */
export const readPercent: ReadValue<number> = (text) => {
  const value = /^\d{1,3}(\.\d{1,4})?$/.test(text.trim()) ? Number(text) : NaN
  return value <= 100 ? ok(value) : err('a percentage between 0 and 100, e.g. 1 or 0.1')
}

const TCP = 'HOST:PORT, e.g. 127.0.0.1:18000 or [::1]:18000, with a port between 0 and 65535'

/** Reads HOST:PORT or [IPv6]:PORT. */
export const readTcpAddress: ReadValue<TcpAddress> = (text) => {
  const match = /^(?:\[([^\]]+)\]|([^:[\]\s/]+)):(\d{1,5})$/.exec(text)
  const port = Number(match?.[3])
  if (match === null || port > 65_535) return err(TCP)
  if (match[1] !== undefined && isIP(match[1]) !== 6) return err(TCP)
  return ok({ type: 'tcp', host: match[1] ?? match[2] ?? '', port })
}

// Envoy rejects a longer pipe path: sun_path has 108 bytes, including the final NUL.
const MAX_SOCKET_PATH = 107

/** Reads HOST:PORT, [IPv6]:PORT or unix:PATH. */
export const readServerAddress: ReadValue<ServerAddress> = (text) => {
  if (!text.startsWith('unix:')) {
    const tcp = readTcpAddress(text)
    return tcp.ok ? tcp : err(`${TCP}; or unix:PATH`)
  }
  const path = text.slice('unix:'.length)
  if (path === '' || Buffer.byteLength(path) > MAX_SOCKET_PATH)
    return err(`unix:PATH with a path of 1 to ${MAX_SOCKET_PATH} bytes`)
  return ok({ type: 'unix', path })
}

/** Reads an address that Envoy binds: IP:PORT or unix:PATH, as Envoy accepts no host names there. */
export const readEnvoyAddress: ReadValue<ServerAddress> = (text) => {
  const address = readServerAddress(text)
  if (text.startsWith('unix:')) return address
  return address.ok && address.value.type === 'tcp' && isIP(address.value.host) !== 0
    ? address
    : err('IP:PORT, e.g. 127.0.0.1:19000, or unix:PATH')
}

/** Reads an IP address, without brackets. */
export const readBindHost: ReadValue<string> = (text) =>
  isIP(text) === 0 ? err('an IP address, e.g. 0.0.0.0, 127.0.0.1 or ::') : ok(text)

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Reads a duration, written as a whole number with a unit, in milliseconds. */
export const readDuration =
  (minMs: number, maxMs: number, range: string): ReadValue<number> =>
  (text) => {
    const match = /^(\d{1,9})(ms|s|m|h)$/.exec(text.trim())
    const ms = Number(match?.[1]) * (UNIT_MS[match?.[2] ?? ''] ?? NaN)
    return ms >= minMs && ms <= maxMs
      ? ok(ms)
      : err(`a duration of ${range}, written as a whole number with ms, s, m or h, e.g. 10s`)
  }

const UNIT_BYTES: Readonly<Record<string, number>> = {
  '': 1,
  KiB: 1024,
  MiB: 1 << 20,
  GiB: 1 << 30,
}

/** Reads a size in bytes, written as a whole number with or without KiB, MiB or GiB. */
export const readSize =
  (min: number, max: number, range: string): ReadValue<number> =>
  (text) => {
    const match = /^(\d{1,12}) ?(KiB|MiB|GiB)?$/.exec(text.trim())
    const bytes = Number(match?.[1]) * (UNIT_BYTES[match?.[2] ?? ''] ?? NaN)
    return bytes >= min && bytes <= max
      ? ok(bytes)
      : err(`a size of ${range}, in bytes or with KiB, MiB or GiB, e.g. 10MiB`)
  }

/** Reads a whole number between min and max, inclusive. */
export const readInteger =
  (min: number, max: number): ReadValue<number> =>
  (text) => {
    const value = /^\d{1,9}$/.test(text.trim()) ? Number(text) : NaN
    return value >= min && value <= max
      ? ok(value)
      : err(`a whole number between ${min} and ${max}`)
  }

const MOST_WORKERS = 128

/** Returns a reader of a number of workers; "auto" is one less than there are processors. */
export const readWorkersFor =
  (processors: () => number): ReadValue<number> =>
  (text) => {
    if (text.trim().toLowerCase() === 'auto') return ok(Math.max(1, processors() - 1))
    const given = readInteger(1, MOST_WORKERS)(text)
    return given.ok ? given : err(`${given.error}, or auto`)
  }

/** Reads a number of workers, for the processors that this process may use. */
export const readWorkers = readWorkersFor(availableParallelism)

/** Reads one of the words, ignoring case, and returns it as spelt in the list. */
export const readOneOf =
  <const Word extends string>(...words: readonly Word[]): ReadValue<Word> =>
  (text) => {
    const word = words.find((candidate) => candidate.toLowerCase() === text.trim().toLowerCase())
    return word === undefined ? err(`one of ${words.join(', ')}`) : ok(word)
  }

/** Reads true, 1 or yes, and false, 0 or no. */
export const readSwitch: ReadValue<boolean> = (text) => {
  const value = text.trim().toLowerCase()
  if (['true', '1', 'yes'].includes(value)) return ok(true)
  return ['false', '0', 'no'].includes(value) ? ok(false) : err('true or false')
}

const DNS_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** Reads a DNS name in lower case (RFC 1123, section 2.1). */
export const readDomain: ReadValue<string> = (text) =>
  DNS_NAME.test(text) && text.length <= 253
    ? ok(text)
    : err('a DNS name in lower case, e.g. policy.gatehouse.dev')

const ALLOWED =
  'IP, IP/BITS, IP:PORT or IP/BITS:PORT (IPv6 with a port in brackets), e.g. 127.0.0.1:3001 or 169.254.20.0/24'

/** Reads an exception to the addresses that backends must not have. */
export const readAllowedAddress: ReadValue<AllowedAddress> = (text) => {
  const match =
    /^\[([0-9a-f:.]+)\](?:\/(\d{1,3}))?:(\d{1,5})$/i.exec(text) ??
    /^(\d[\d.]*)(?:\/(\d{1,3}))?(?::(\d{1,5}))?$/.exec(text) ??
    /^([0-9a-f:.]+)(?:\/(\d{1,3}))?$/i.exec(text)
  const [, network = '', prefix, port] = match ?? []
  const family = isIP(network)
  const bits = family === 6 ? 128 : 32
  const own = { network, prefix: prefix === undefined ? bits : Number(prefix) }
  if (family === 0 || own.prefix > bits || Number(port ?? 0) > 65_535) return err(ALLOWED)
  return ok(port === undefined ? own : { ...own, port: Number(port) })
}

/** Reads NAMESPACE/NAME. */
export const readNamespacedName: ReadValue<NamespacedName> = (text) => {
  const [namespace, name, ...more] = text.split('/')
  if (namespace === undefined || name === undefined || more.length > 0) return err('NAMESPACE/NAME')
  return DNS_NAME.test(namespace) && DNS_NAME.test(name)
    ? ok({ namespace, name })
    : err('NAMESPACE/NAME, both in lower case')
}
