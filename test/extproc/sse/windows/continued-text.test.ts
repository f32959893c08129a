// Texts of which nobody knows whether they continue one another: what is shown, and what may leave.

import { describe, expect, test } from 'vitest'
import {
  createHeldChannel,
  type HeldChannel,
} from '../../../../src/extproc/sse/windows/held-channel.js'

const HOLD_BACK = 64

interface Shown {
  readonly channel: HeldChannel
  /** Says a part, and returns all texts of the question about it and what comes with it. */
  say(...parts: readonly (string | readonly [text: string, type: string])[]): readonly string[]
  /** Answers the question: each text as this function changes it. */
  answer(change: (text: string) => string): void
  /** What has left. */
  left(): string
}

function shown(): Shown {
  const channel = createHeldChannel(
    { kind: 'text', role: 'assistant', form: 'string' },
    { holdBack: HOLD_BACK, shown: 'continued', mayKeep: () => true },
  )
  const parts: string[] = []
  let question: readonly string[] = []
  let [out, at] = ['', 0]
  return {
    channel,
    say: (...said) => {
      for (const part of said) {
        const [text, type] = typeof part === 'string' ? [part, undefined] : part
        parts.push(text)
        channel.push(text, type)
      }
      const first = channel.text.take()
      if (first === undefined) return []
      question = [first, ...channel.text.others]
      return question
    },
    answer: (change) => {
      const [content = '', ...others] = question.map(change)
      for (const slice of channel.answered({ content, others })) expect(slice).toBeUndefined()
    },
    left: () => {
      for (let part = parts[0]; part !== undefined; part = parts[0]) {
        if (!channel.isFree(at + part.length)) break
        out += channel.leave(at, part)
        at += part.length
        parts.shift()
      }
      return out
    },
  }
}

const same = (text: string): string => text
const mask = (text: string): string => text.replaceAll('secret', '****')

describe('what is shown', () => {
  test('the first part by itself, the next ones joined to what came before as well', () => {
    const text = shown()
    expect(text.say('a sec')).toEqual(['a sec'])
    text.answer(same)
    expect(text.say('ret')).toEqual(['ret', 'a secret'])
    text.answer(same)
    expect(text.left()).toBe('a secret')
  })

  test('parts that came while the webhook was asked, in one question', () => {
    const text = shown()
    text.say('one ')
    expect(text.say('two ', 'three')).toEqual([])
    text.answer(same)
    expect(text.say()).toEqual(['two ', 'three', 'one two three'])
  })

  test('as much of what came before as the hold-back', () => {
    const text = shown()
    text.say('x'.repeat(1000))
    text.answer(same)
    expect(text.say('y')).toEqual(['y', `${'x'.repeat(HOLD_BACK)}y`])
  })

  test('what came before as it left', () => {
    const text = shown()
    text.say('a secret')
    text.answer(mask)
    expect(text.say(' and more')).toEqual([' and more', 'a **** and more'])
  })

  test('parts of one type of event, apart from those of others between them', () => {
    const text = shown()
    text.say(['sword', 'text-delta'])
    text.answer(same)
    text.say(['Hm, ', 'thinking-delta'])
    text.answer(same)
    expect(text.say(['fish', 'text-delta'])).toEqual(['fish', 'swordHm, fish', 'swordfish'])
  })
})

describe('what is said again', () => {
  test('a text of some length is asked about once', () => {
    const text = shown()
    text.say('a notice in each event')
    text.answer(same)
    expect(text.say('a notice in each event')).toEqual([])
    expect(text.left()).toBe('a notice in each eventa notice in each event')
  })

  test('and changed alike', () => {
    const text = shown()
    text.say('a secret in each event')
    text.answer(mask)
    expect(text.say('a secret in each event')).toEqual([])
    expect(text.left()).toBe('a **** in each eventa **** in each event')
  })

  test('with more at its end, it continues nothing', () => {
    const text = shown()
    text.say('The message so far')
    text.answer(same)
    const whole = 'The message so far, and more'
    expect(text.say(whole)).toEqual([whole])
  })

  test('a short one is asked about until all that it can become has been seen', () => {
    const text = shown()
    let questions = 0
    for (let count = 0; count < 100; count += 1) {
      if (text.say('ha ').length === 0) continue
      questions += 1
      text.answer(same)
    }
    // The hold-back, and once more.
    expect(questions).toBe(Math.ceil(HOLD_BACK / 3) + 1)
    expect(text.left()).toBe('ha '.repeat(100))
  })

  test('after another, a short one is asked about again', () => {
    const text = shown()
    for (const part of ['1', '2', '1']) {
      expect(text.say(part)).toContain(part)
      text.answer(same)
    }
  })
})

describe('changes', () => {
  test('within a part', () => {
    const text = shown()
    text.say('a text, ')
    text.answer(mask)
    text.say('a secret, ', 'a secret')
    text.answer(mask)
    expect(text.left()).toBe('a text, a ****, a ****')
  })

  test('across parts that have not left', () => {
    const text = shown()
    text.say('one, ')
    text.say('a sec', 'ret and more')
    text.answer(mask)
    expect(text.say()).toEqual(['a sec', 'ret and more', 'one, a secret and more'])
    text.answer(mask)
    expect(text.left()).toBe('one, a **** and more')
    expect(text.channel.text.isStuck).toBe(false)
  })

  test('that begin in what has left end the reply', () => {
    const text = shown()
    text.say('a sec')
    text.answer(mask)
    text.say('ret')
    text.answer(mask)
    expect([text.left(), text.channel.text.isStuck]).toEqual(['a sec', true])
  })

  test('of a part that is only seen beside others', () => {
    const text = shown()
    text.say('password ')
    text.answer(same)
    text.say('fox')
    text.answer((shownText) => shownText.replace('password fox', 'password ***'))
    expect(text.left()).toBe('password ***')
  })
})
