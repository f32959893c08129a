// Messages for errors of any thrown type.

import { expect, test } from 'vitest'
import { errorKind, errorText } from '../../src/kit/errors.js'
import { UnreadableForm } from '../../src/kit/json/unreadable-form.js'

test('the text of an Error is its message; any other value is printed', () => {
  expect(errorText(new TypeError('no such field'))).toBe('no such field')
  expect(errorText('out of memory')).toBe('out of memory')
  expect(errorText(undefined)).toBe('undefined')
})

test('the kind of an error names its class and nothing that the request carried', () => {
  expect(errorKind(new RangeError('Bearer eyJ'))).toBe('RangeError')
  expect(errorKind('Bearer eyJ')).toBe('string')
})

test('an error of Gatehouse has a code and a message', () => {
  expect(new UnreadableForm('an unknown block')).toMatchObject({
    code: 'unreadable_form',
    message: 'an unknown block',
  })
})
