// Checks the endpoints of a backend in a cluster: Gatehouse resolves names itself and removes forbidden addresses
// (decision 30a). Envoy never gets a name, as nobody could check what it resolves.

import { isIP } from 'node:net'
import type { AddressRules, SplitAddressRules } from '../../../kit/addresses/address-rules.js'
import { readHost } from '../../../kit/addresses/host.js'
import type { Address, Endpoints } from '../../../model/destination.js'
import type { Context } from '../world/context.js'
import { checksOfAddresses } from './address-rules.js'
import type { ServiceAddresses } from './service-addresses.js'

/** Endpoints without forbidden addresses. */
export interface CheckedEndpoints {
  readonly endpoints: Endpoints
  /** Set if no address is left. */
  readonly problem?: EndpointsProblem
  /** Reports removed addresses, or why the remaining ones are outdated. */
  readonly note?: string
}

/** Why no address is left. */
export interface EndpointsProblem {
  /** Reason of the condition ResolvedRefs. */
  readonly reason: 'ForbiddenAddress' | 'NameNotResolved'
  readonly message: string
}

/** backend: its name in messages. known: what was found about the addresses before. */
export function checkEndpoints(
  context: Context,
  backend: string,
  endpoints: Endpoints,
  known?: Pick<ServiceAddresses, 'concerns'>,
): CheckedEndpoints {
  const rules = checksOfAddresses(context)?.rules
  if (rules === undefined) return { endpoints }
  return endpoints.type === 'addresses'
    ? checkAddresses(refusalsBy(rules, known), backend, endpoints.addresses)
    : checkHost(context, rules, backend, endpoints)
}

type RefusalOf = AddressRules['refusalOf']

const refusalsBy = (
  rules: SplitAddressRules,
  known: Pick<ServiceAddresses, 'concerns'> | undefined,
): RefusalOf =>
  known === undefined
    ? rules.refusalOf
    : (ip, port) => {
        const concern = known.concerns.get(ip)
        return concern === undefined || rules.isPermitted(concern, ip, port)
          ? undefined
          : concern.why
      }

function checkHost(
  context: Context,
  rules: AddressRules,
  backend: string,
  named: { readonly host: string; readonly port: number },
): CheckedEndpoints {
  const host = readHost(named.host)
  const withPort = (ips: readonly string[]) => ips.map((ip) => ({ ip, port: named.port }))
  if (host.type === 'addresses')
    return checkAddresses(rules.refusalOf, backend, withPort(host.ips), named.host)
  if (host.type === 'invalid')
    return nowhere('ForbiddenAddress', `${backend}: ${named.host} is not an IP address`)
  const known = context.reader.read('names', host.name)
  if (known?.ips === undefined) {
    const why = known?.error ?? `the name ${host.name} has not been resolved yet`
    return nowhere('NameNotResolved', `${backend}: ${why}`, host.name)
  }
  const checked = checkAddresses(rules.refusalOf, backend, withPort(known.ips), host.name)
  const age =
    known.error === undefined ? [] : [`${backend}: ${known.error}; its last addresses stay in use`]
  const note = [...(checked.note === undefined ? [] : [checked.note]), ...age].join('\n')
  const resolvedFrom = { resolvedFrom: host.name }
  return {
    ...checked,
    endpoints: { ...preferIpv4(checked.endpoints), ...resolvedFrom },
    ...(note === '' ? {} : { note }),
  }
}

/** name: the host name that the addresses belong to, for messages. */
function checkAddresses(
  refusalOf: RefusalOf,
  backend: string,
  addresses: readonly Address[],
  name?: string,
): CheckedEndpoints & { readonly endpoints: Addresses } {
  const refused = addresses.flatMap(({ ip, port }) => {
    const why = refusalOf(ip, port)
    return why === undefined ? [] : [{ ip, why }]
  })
  if (refused.length === 0) return { endpoints: { type: 'addresses', addresses } }
  const refusedIps = new Set(refused.map(({ ip }) => ip))
  const left = addresses.filter(({ ip }) => !refusedIps.has(ip))
  const message = `${backend}: ${sentence(refused, name)}`
  const endpoints = { type: 'addresses', addresses: left } as const
  return left.length > 0
    ? { endpoints, note: `${message}; left out` }
    : { endpoints, problem: { reason: 'ForbiddenAddress', message } }
}

type Addresses = Extract<Endpoints, { readonly type: 'addresses' }>

const MOST_NAMED = 5

function sentence(
  refused: readonly { readonly ip: string; readonly why: string }[],
  name: string | undefined,
): string {
  const one = ({ ip, why }: { readonly ip: string; readonly why: string }): string =>
    name === undefined || name === ip ? `${ip} is ${why}` : `${name} is ${ip}, ${why}`
  const more = refused.length > MOST_NAMED ? [`${refused.length - MOST_NAMED} more like it`] : []
  return [...refused.slice(0, MOST_NAMED).map(one), ...more].join('; ')
}

const nowhere = (
  reason: EndpointsProblem['reason'],
  message: string,
  resolvedFrom?: string,
): CheckedEndpoints => ({
  endpoints: {
    type: 'addresses',
    addresses: [],
    ...(resolvedFrom === undefined ? {} : { resolvedFrom }),
  },
  problem: { reason, message },
})

/** Keeps only IPv4 addresses if any, as Envoy does for a name with both families. */
function preferIpv4(endpoints: Addresses): Addresses {
  const ipv4 = endpoints.addresses.filter(({ ip }) => isIP(ip) === 4)
  return ipv4.length === 0 ? endpoints : { type: 'addresses', addresses: ipv4 }
}
