// Reads an event of a streamed interaction of Gemini: contents or steps that start, continue and stop.

import { asObject, type JsonObjectNode, member, present } from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import { callNames } from '../text/calls.js'
import { goingOn, indexOf, spokenAt, type TextsAndEnds, together } from '../text/event-texts.js'
import { callOf, type FoundText, type Source } from '../text/found-text.js'
import { sweepObject } from '../text/sweep.js'
import { besideEvent } from './beside.js'
import { BESIDE_ENTRIES, ENTRIES } from './entries.js'

const EVENT = /^(?:interaction\.\w+|(?:content|step)\.(?:start|delta|stop)|error)$/

/** Whether an event, whose type has a name of its own, belongs to an interaction. */
export function isInteractionEvent(root: JsonObjectNode): boolean {
  const type = root.members.get('event_type')
  return type?.type === 'string' && EVENT.test(type.value)
}

/** root: one that isInteractionEvent() accepts. */
export function* readInteractionEvent(json: Source, root: JsonObjectNode): Work<TextsAndEnds> {
  const index = indexOf(json, member(root, 'index'))
  const found: FoundText[] = []
  for (const name of READ) {
    const node = present(member(root, name))
    if (node === undefined) continue
    const part = asObject(node, name)
    const at = spokenAt(json, index)
    const isCall = isOfCall(part)
    yield* sweepObject(part, OWNERS[name], at, ENTRIES, found, isCall ? { skip: CALL } : {})
    const call = isCall ? present(member(part, 'arguments')) : undefined
    if (call !== undefined)
      found.push({
        ...(yield* callOf(call, spokenAt(json, `${index} arguments`), true)),
        call: callNames(json.text, [part], ['id', 'call_id']) ?? {},
      })
  }
  const type = member(root, 'event_type')
  const step = type?.type === 'string' ? type.value : ''
  return together([
    goingOn(
      found.map((text) => ({
        ...text,
        channel: ofDeltas(text.channel),
        ...(step.endsWith('.delta') && { continues: true }),
      })),
    ),
    yield* besideEvent(root, spokenAt(json, 'event'), READ, BESIDE_ENTRIES),
    { texts: [], ends: LAST.test(step) ? [''] : step.endsWith('.stop') ? [index] : [] },
  ])
}

/** The members that continue, and the forms of their objects. */
const OWNERS = { delta: 'delta', content: 'entry', step: 'entry' } as const
const READ = ['delta', 'content', 'step'] as const
const CALL: ReadonlySet<string> = new Set(['arguments'])

/** Whether an object is a call, or a part of its arguments. */
function isOfCall(part: JsonObjectNode): boolean {
  const type = part.members.get('type')
  return type?.type === 'string' && /(?:_call|^arguments_delta)$/.test(type.value)
}

const LAST = /^(?:interaction\.completed?|error)$/

/** Returns the channel as events with deltas call it: a step may begin with parts of its content. */
const ofDeltas = (channel: string): string => channel.replace(/^(\S+) content \d+ text$/, '$1 text')
