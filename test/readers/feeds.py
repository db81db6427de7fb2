"""Reads a calendar with python3-icalendar and prints what it understood: one JSON object a line, by UID."""
import datetime
import json
import sys

from icalendar import Calendar


def told(value):
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return value.isoformat()


with open(sys.argv[1], "rb") as file:
    calendar = Calendar.from_ical(file.read())
events = []
for event in calendar.walk("VEVENT"):
    if event.errors:
        sys.exit(f"{event['UID']}: {event.errors}")
    organizer = event.get("ORGANIZER")
    events.append({
        "uid": str(event["UID"]), "start": told(event["DTSTART"].dt), "end": told(event["DTEND"].dt),
        "summary": str(event["SUMMARY"]), "location": str(event.get("LOCATION", "")), "description": str(event.get("DESCRIPTION", "")),
        "status": str(event["STATUS"]), "transp": str(event["TRANSP"]),
        "organizer": None if organizer is None else [str(organizer.params["CN"]), str(organizer)],
    })
for event in sorted(events, key=lambda event: event["uid"]):
    print(json.dumps(event))
