// Replies and events of OpenAI's image generation: images, and the prompt as the model rewrote it.

import type { JsonNode } from '../../../kit/json/json-node.js'
import type { JsonObjectNode } from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import { spokenAt, type TextsAndEnds } from '../text/event-texts.js'
import { formOf } from '../text/form.js'
import type { Source } from '../text/found-text.js'
import { OF_REPLY } from '../text/settings.js'
import { besideEvent } from './beside.js'

/** The form of replies with images, and of events with one. */
export const IN_IMAGES = formOf(
  {
    reply: { data: 'inner', b64_json: 'file', url: 'file' },
    data: { b64_json: 'file', url: 'file', revised_prompt: 'text' },
  },
  OF_REPLY,
  {
    reply: { word: 'background output_format quality', size: 'size' },
    data: { mime: 'mime_type' },
  },
)

const MARKS = ['b64_json', 'url', 'revised_prompt']

/** Whether a reply's list is of images; one of embeddings has no text. */
export const isImages = (data: JsonNode): boolean =>
  data.type === 'array' &&
  data.items.some((item) => item.type === 'object' && MARKS.some((name) => item.members.has(name)))

const EVENT = /^image_(?:generation|edit)\./

/** Whether an event of this type has an image. */
export const isImageEvent = (type: string): boolean => EVENT.test(type)

/** Reads an event with an image, complete or not. */
export const readImageEvent = (json: Source, root: JsonObjectNode): Work<TextsAndEnds> =>
  besideEvent(root, spokenAt(json, 'event'), [], IN_IMAGES)
