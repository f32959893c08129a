// Types and helpers for the status of resources: conditions, as in the Gateway API.

/** The status of one resource. */
export interface ResourceStatus {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly conditions: readonly Condition[]
  /** Set for an HTTPRoute through which anybody can reach a backend, as no policy decides who may use it. */
  readonly open?: true
  /** Addresses of a Gateway; absent: nothing says where its Envoys are. */
  readonly addresses?: readonly GatewayAddress[]
  /** Number of ListenerSets that a Gateway has accepted; absent: it allows none. */
  readonly attachedListenerSets?: number
}

/** An address of a Gateway (GatewayStatusAddress). */
export interface GatewayAddress {
  /** IPAddress or Hostname. */
  readonly type: string
  readonly value: string
}

/** Namespace and name of a Gateway. */
export interface GatewayName {
  readonly namespace: string
  readonly name: string
}

/** A Gateway, or the ListenerSet that a route names as its parent. */
export interface Ancestor extends GatewayName {
  readonly kind?: 'ListenerSet'
}

/** A condition (metav1.Condition) and what it is about. */
export interface Condition {
  /** Accepted, Attached, Programmed, ResolvedRefs. */
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  /** CamelCase. */
  readonly reason: string
  /** Sentences for people, one per line. */
  readonly message: string
  /** The Gateway or ListenerSet that it is about; absent: the resource is not attached to any. */
  readonly ancestor?: Ancestor
  /** On a Gateway or ListenerSet: name of the listener that it is about. On a route: sectionName of the parentRef. */
  readonly section?: string
  /** On a route: port of the parentRef. */
  readonly port?: number
  readonly observedGeneration?: number
}

/** Reason for a route that is accepted but refuses all requests because a required policy is missing. */
export const WITHOUT_POLICY = 'AcceptedWithoutPolicy'

/** Reason for a policy that is attached and of mode Audit: it refuses nothing. */
export const AUDIT = 'Audit'

/** Whether the condition reports a problem. Conflicted is the only type that is bad when True. */
export const isBad = ({
  type,
  status,
  reason,
}: Pick<Condition, 'type' | 'status' | 'reason'>): boolean =>
  type === 'Conflicted' ? status !== 'False' : status !== 'True' || reason === WITHOUT_POLICY

/** Whether a part of the resource is not in force as written, or cannot work, though the resource is accepted. */
export const isPartial = ({ type, reason }: Pick<Condition, 'type' | 'reason'>): boolean =>
  reason === 'PartiallyValid' || type === 'PartiallyInvalid'

/**
 * Names a resource in a sentence that is read in a namespace: a resource of another one has no name there (decision 29c).
 * key: NAMESPACE/NAME.
 */
export const nameFor = (namespace: string, kind: string, key: string): string =>
  key.startsWith(`${namespace}/`)
    ? `${kind} ${key}`
    : `${/^(?:HTTP|[AEIO])/.test(kind) ? 'an' : 'a'} ${kind} of another namespace`

/** Returns the sentence with a capital letter at its beginning. */
export const asSentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

const PLAIN = /^(\w+ (accepted|published)|All references resolved|Attached to all targets)$/

/** Returns the lines of a condition's message, except those that only say that all is well. */
export const remarksOf = ({ message }: Pick<Condition, 'message'>): readonly string[] =>
  message.split('\n').filter((line) => line !== '' && !PLAIN.test(line))

/** Whether a line only states which policy sets which field, or what Gatehouse has added (decision 13a). */
export const isFact = (line: string): boolean =>
  /^(In force|Replaced|Added to the CORS filter of [^:]+): /.test(line)

const UNSAFE = 'Over plain HTTP: '

/** Returns the line of a condition about calls that are accepted and not safe. */
export const plainLine = (sentence: string): string => UNSAFE + sentence

/** Whether a line is about what is accepted and not safe. */
export const isWarningLine = (line: string): boolean => line.startsWith(UNSAFE)

/** Returns where a condition holds, for display: "NAMESPACE/NAME LISTENER", as far as known. */
export const placeOf = ({ ancestor, section }: Condition): string =>
  [ancestor && gatewayText(ancestor), section].filter((part) => part !== undefined).join(' ')

/** Returns NAMESPACE/NAME for display, of a ListenerSet after its kind; never parsed. */
export const gatewayText = ({ kind, namespace, name }: Ancestor): string =>
  `${kind === undefined ? '' : `${kind} `}${namespace}/${name}`

/** Returns the conditions of a document whose last good version is in force: Accepted reports the problems instead. */
export function staleConditions(
  messages: readonly string[],
  own: readonly Condition[],
): readonly Condition[] {
  const refused = invalidCondition(messages)
  const reported = own.map((condition) =>
    isOfWhole(condition) ? refusedAs(condition, refused) : condition,
  )
  return own.some(isOfWhole) ? reported : [refused, ...reported]
}

/** Whether it is an Accepted condition of the whole resource, not of a listener alone. */
const isOfWhole = ({ type, ancestor, section }: Condition): boolean =>
  type === 'Accepted' && (ancestor !== undefined || section === undefined)

const refusedAs = ({ ancestor, section, port }: Condition, refused: Condition): Condition => ({
  ...refused,
  ...(ancestor !== undefined && { ancestor }),
  ...(section !== undefined && { section }),
  ...(port !== undefined && { port }),
})

/** Returns the condition for a document that could not be decoded. */
export const invalidCondition = (messages: readonly string[]): Condition => ({
  type: 'Accepted',
  status: 'False',
  reason: 'Invalid',
  message: messages.join('; '),
})

/** Returns the sentences of a condition's message in one line. */
export const inOneLine = (message: string): string =>
  message.replaceAll(/(?<![.?!])\n/g, '. ').replaceAll('\n', ' ')
