// What we say of a resource: conditions, as in the Gateway API's status.

/** The status of one resource. */
export interface ResourceStatus {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly conditions: readonly Condition[]
  /** An HTTPRoute through which anybody's requests reach a backend, because no policy decides who may use it. */
  readonly open?: true
}

/** Which Gateway. */
export interface GatewayName {
  readonly namespace: string
  readonly name: string
}

/** A condition (metav1.Condition) with what it is about. */
export interface Condition {
  /** Accepted, Attached, Programmed, ResolvedRefs. */
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  /** CamelCase. */
  readonly reason: string
  /** A sentence for a person. */
  readonly message: string
  /** The Gateway; absent: the resource is not attached to any. */
  readonly ancestor?: GatewayName
  /** Of a Gateway: the name of the listener that it is about; of a route: the sectionName of its parentRef. */
  readonly section?: string
  /** Of a route: the port of its parentRef. */
  readonly port?: number
  readonly observedGeneration?: number
}

/** Reason of a route that is accepted, and refuses all requests for want of a policy. */
export const WITHOUT_POLICY = 'AcceptedWithoutPolicy'

/** Conflicted is the one type that is bad when it is True. */
export const isBad = ({
  type,
  status,
  reason,
}: Pick<Condition, 'type' | 'status' | 'reason'>): boolean =>
  type === 'Conflicted' ? status !== 'False' : status !== 'True' || reason === WITHOUT_POLICY

const PLAIN = /^(\w+ (accepted|published)|All references resolved|Attached to all targets)$/

/** The lines of a condition's message that say more than that all is well. */
export const remarksOf = ({ message }: Pick<Condition, 'message'>): readonly string[] =>
  message.split('\n').filter((line) => line !== '' && !PLAIN.test(line))

/** A line that says which policy has which field: no remark. */
export const isFact = (line: string): boolean => /^(In force|Replaced): /.test(line)

/** Where a condition holds, for people: "NAMESPACE/NAME LISTENER", as far as it says so. */
export const placeOf = ({ ancestor, section }: Condition): string =>
  [ancestor && gatewayText(ancestor), section].filter((part) => part !== undefined).join(' ')

/** NAMESPACE/NAME: to be shown, never to be read back. */
export const gatewayText = ({ namespace, name }: GatewayName): string => `${namespace}/${name}`

/** A document whose last good version is in force: wherever that is said to be accepted, the problems are said instead. */
export function staleConditions(
  messages: readonly string[],
  own: readonly Condition[],
): readonly Condition[] {
  const refused = invalidCondition(messages)
  const said = own.map((condition) =>
    isOfWhole(condition) ? refusedAs(condition, refused) : condition,
  )
  return own.some(isOfWhole) ? said : [refused, ...said]
}

/** Not of a listener alone. */
const isOfWhole = ({ type, ancestor, section }: Condition): boolean =>
  type === 'Accepted' && (ancestor !== undefined || section === undefined)

const refusedAs = ({ ancestor, section, port }: Condition, refused: Condition): Condition => ({
  ...refused,
  ...(ancestor !== undefined && { ancestor }),
  ...(section !== undefined && { section }),
  ...(port !== undefined && { port }),
})

/** A document that could not be decoded. */
export const invalidCondition = (messages: readonly string[]): Condition => ({
  type: 'Accepted',
  status: 'False',
  reason: 'Invalid',
  message: messages.join('; '),
})
